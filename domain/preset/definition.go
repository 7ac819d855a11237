package preset

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/fault"
)

// Surfaces: where a policy can be chosen.
const (
	SurfaceChat     = "hecate_chat"
	SurfaceTask     = "hecate_task"
	SurfaceExternal = "external_agent"
	SurfaceAny      = "any"
)

// What the approval of a policy does to the questions about tool calls.
const (
	ApprovalInherit = "inherit" // adds nothing
	ApprovalRequire = "require" // every call asks
	ApprovalBlock   = "block"   // what would ask is denied
	ApprovalAllow   = "allow"   // adds nothing, and opens nothing
)

// Limits of a policy. What is beyond them is refused, never cut.
const (
	InstructionsMax = event.InlineMax // bytes
	FieldMax        = 1024            // bytes of any other text
	NameMax         = 200             // bytes
	ListMax         = 64              // origins, skills or options
)

// Definition is what a policy says. The zero value allows nothing and has no name.
type Definition struct {
	Name              string `json:"name"`
	Description       string `json:"description,omitempty"`
	Instructions      string `json:"instructions,omitempty"` // for the model, ahead of a task's own
	Surface           string `json:"surface"`
	ProviderHint      string `json:"provider_hint,omitempty"`
	ModelHint         string `json:"model_hint,omitempty"`
	ExecutionProfile  string `json:"execution_profile,omitempty"`
	ExternalAgentKind string `json:"external_agent_kind,omitempty"`

	ToolsEnabled        bool     `json:"tools_enabled"`
	WritesAllowed       bool     `json:"writes_allowed"`
	NetworkAllowed      bool     `json:"network_allowed"`
	BrowserAllowed      bool     `json:"browser_allowed,omitempty"`              // looking at pages
	BrowserInteractions bool     `json:"browser_interactions_allowed,omitempty"` // acting on them; neither implies the other
	BrowserOrigins      []string `json:"browser_allowed_origins,omitempty"`      // of both, exact, see normalOrigin

	Approval       string `json:"approval_policy"`
	ProjectMemory  string `json:"project_memory_policy"` // inherit, include, visible_only or exclude
	ContextSources string `json:"context_source_policy"` // inherit, include_enabled, visible_only or exclude

	SkillIDs             []string          `json:"skill_ids,omitempty"`
	ExternalAgentOptions map[string]string `json:"external_agent_options,omitempty"`
}

// Supports reports whether the policy can be chosen on a surface.
func (d Definition) Supports(surface string) bool {
	return d.Surface == surface || d.Surface == SurfaceAny
}

// browserPossible reports whether the policy has what a browser grant needs.
func (d Definition) browserPossible() bool { return d.ToolsEnabled && d.Supports(SurfaceTask) }

func (d Definition) browserGranted() bool { return d.BrowserAllowed || d.BrowserInteractions }

// Normalize trims, fills defaults and checks. Origins without a grant are dropped. The
// error is a fault that names the field.
func (d Definition) Normalize() (Definition, error) {
	d.fill()
	if err := d.checkTexts(); err != nil {
		return d, err
	}
	if err := d.checkWords(); err != nil {
		return d, err
	}
	if err := d.lists(); err != nil {
		return d, err
	}
	return d, d.browser()
}

func (d *Definition) fill() {
	for _, s := range []*string{
		&d.Name, &d.Description, &d.Instructions, &d.Surface, &d.ProviderHint, &d.ModelHint, &d.ExecutionProfile,
		&d.ExternalAgentKind, &d.Approval, &d.ProjectMemory, &d.ContextSources,
	} {
		*s = strings.TrimSpace(*s)
	}
	for _, f := range []struct {
		word      *string
		byDefault string
	}{
		{&d.Surface, SurfaceAny},
		{&d.Approval, ApprovalInherit},
		{&d.ProjectMemory, "inherit"},
		{&d.ContextSources, "inherit"},
	} {
		if *f.word == "" {
			*f.word = f.byDefault
		}
	}
}

func (d *Definition) checkTexts() error {
	if d.Name == "" {
		return fault.Invalid("invalid_request", "name is required")
	}
	for _, f := range []struct {
		field, text string
		most        int
	}{
		{"name", d.Name, NameMax},
		{"description", d.Description, FieldMax},
		{"instructions", d.Instructions, InstructionsMax},
		{"provider_hint", d.ProviderHint, FieldMax},
		{"model_hint", d.ModelHint, FieldMax},
		{"execution_profile", d.ExecutionProfile, FieldMax},
		{"external_agent_kind", d.ExternalAgentKind, FieldMax},
	} {
		if err := checkText(f.field, f.text, f.most); err != nil {
			return err
		}
	}
	return nil
}

func checkText(field, text string, most int) error {
	switch {
	case len(text) > most:
		return fault.Invalid("invalid_request", "%s has %d bytes, at most %d are allowed", field, len(text), most)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return fault.Invalid("invalid_request", "%s must be UTF-8 without NUL", field)
	}
	return nil
}

func (d *Definition) checkWords() error {
	for _, f := range []struct {
		field, word string
		known       []string
	}{
		{"surface", d.Surface, []string{SurfaceChat, SurfaceTask, SurfaceExternal, SurfaceAny}},
		{"approval_policy", d.Approval, []string{ApprovalInherit, ApprovalRequire, ApprovalBlock, ApprovalAllow}},
		{"project_memory_policy", d.ProjectMemory, []string{"inherit", "include", "visible_only", "exclude"}},
		{"context_source_policy", d.ContextSources, []string{"inherit", "include_enabled", "visible_only", "exclude"}},
	} {
		if !slices.Contains(f.known, f.word) {
			return fault.Invalid("invalid_request", "unknown %s %q: use one of %s", f.field, f.word, strings.Join(f.known, ", "))
		}
	}
	return nil
}

func (d *Definition) lists() error {
	for _, l := range []struct {
		field string
		n     int
	}{
		{"browser_allowed_origins", len(d.BrowserOrigins)},
		{"skill_ids", len(d.SkillIDs)},
		{"external_agent_options", len(d.ExternalAgentOptions)},
	} {
		if l.n > ListMax {
			return fault.Invalid("invalid_request", "%s has %d entries, at most %d are allowed", l.field, l.n, ListMax)
		}
	}
	var skills []string
	for _, id := range d.SkillIDs {
		id = strings.TrimSpace(id)
		if err := checkText("skill_ids", id, FieldMax); err != nil {
			return err
		}
		if id != "" && !slices.Contains(skills, id) {
			skills = append(skills, id)
		}
	}
	d.SkillIDs = skills
	for key, value := range d.ExternalAgentOptions {
		if strings.TrimSpace(key) == "" {
			return fault.Invalid("invalid_request", "external_agent_options has an option without a name")
		}
		for _, text := range []string{key, value} {
			if err := checkText("external_agent_options", text, FieldMax); err != nil {
				return err
			}
		}
	}
	if len(d.ExternalAgentOptions) == 0 {
		d.ExternalAgentOptions = nil
	}
	return nil
}

// browser checks the grants and brings their origins into the normal form.
func (d *Definition) browser() error {
	if !d.browserGranted() {
		d.BrowserOrigins = nil
		return nil
	}
	switch {
	case !d.ToolsEnabled:
		return fault.Invalid("invalid_request", "browser_allowed and browser_interactions_allowed need tools_enabled")
	case !d.browserPossible():
		return fault.Invalid("invalid_request", "browser_allowed and browser_interactions_allowed need surface %s or %s, not %s", SurfaceAny, SurfaceTask, d.Surface)
	}
	var origins []string
	for _, text := range d.BrowserOrigins {
		origin, err := normalOrigin(text)
		if err != nil {
			return fault.Invalid("invalid_request", "browser_allowed_origins: %q: %s", text, err)
		}
		if !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	if len(origins) == 0 {
		return fault.Invalid("invalid_request", "browser_allowed and browser_interactions_allowed need browser_allowed_origins, such as https://docs.example")
	}
	d.BrowserOrigins = origins
	return nil
}

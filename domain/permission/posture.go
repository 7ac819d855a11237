package permission

import (
	"slices"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// The postures: which level gate a task has, frozen on the task when it is created.
const (
	PostureRuntime = "runtime" // the policy list is the whole level gate
	PostureLevels  = "levels"  // level 2 asks
)

// Posture is what a decision is made under: what the task froze, what the files say
// at this moment, what was given for the session and on the command line. The zero
// Posture is the runtime posture without any gate.
type Posture struct {
	Name     string   // PostureRuntime or PostureLevels; "" is runtime, anything else levels
	Policies []Policy // the runtime policies of this server

	// Hard limits and the preset, frozen on the task.
	ReadOnly   bool     // sandbox_read_only
	InPlace    bool     // workspace_mode=in_place: edits reach the operator's files
	Workflow   string   // not empty: the task only reports
	ToolsOff   bool     // a preset without tools
	NetworkOff bool     // a preset without network
	Browser    []string // browser tools that are granted and available
	Preset     Preset

	// ShellOffline: commands of the task are kept from the network, whatever they try.
	ShellOffline bool
	PrivateAddrs bool     // a setting: URLs may lead to private, loopback and link-local addresses
	Protected    []string // files below the workspace root, besides ProjectFile, that only config_edit may write
	Hidden       []string // directories below the workspace root that no file tool may look into, such as the server's data

	Config  Config
	Session []Grant // given with a, for the task's chain of runs
	Flags   Flags   // of the run, not inherited

	OnAsk    OnAsk // frozen on the run
	Attended bool  // frozen on the run: somebody watches it who can answer at once
	Project  bool  // there is a project file that A could write to
}

// ProjectFile is the project's configuration, relative to its root.
const ProjectFile = ".hecate/config.toml"

// Preset is the approval posture of a work policy, frozen on the task.
type Preset string

// The presets. "" is none; any other text counts as require.
const (
	PresetInherit Preset = "inherit" // adds nothing
	PresetAllow   Preset = "allow"   // adds nothing, and opens nothing
	PresetRequire Preset = "require" // every call asks
	PresetBlock   Preset = "block"   // what a gate would ask is denied
)

// OnAsk is what becomes of a call that asks.
type OnAsk string

// What becomes of a call that asks. "" is park.
const (
	OnAskPark   OnAsk = "park"   // the run waits for a person
	OnAskRefuse OnAsk = "refuse" // nobody can answer: it is denied
)

// Grant is one thing that a person gave for more than one call: a pattern or, for
// web_fetch, a host.
type Grant struct {
	ID      string
	Pattern pattern.Pattern
	Host    host.Host
}

// Flags are what the run was started with.
type Flags struct {
	AllowTools []pattern.Pattern // --allow-tools
	Yes        bool              // --yes
	YesReally  bool              // --yes-really
}

func (p Posture) name() string {
	switch p.Name {
	case "", PostureRuntime:
		return PostureRuntime
	}
	return PostureLevels
}

// Offered reports whether the tool stands in the catalogue that the model sees.
func (p Posture) Offered(tool string) bool {
	switch {
	case p.ReadOnly && slices.Contains(removedWhenReadOnly, tool):
		return false
	case tool == "config_edit" && !p.Attended: // it asks each time, and nobody would answer soon
		return false
	}
	return p.frozenLimit(Call{Tool: tool}) == nil
}

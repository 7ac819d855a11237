package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// ErrErased is wrapped by the errors about contents that were erased.
var ErrErased = errors.New("it was erased")

// ErasedMark is what an erased text reads as.
const ErasedMark = "[erased]"

func erasedText(size int64) Text { return Text{s: ErasedMark, erased: size} }

// Erase returns the erased form of an event's data: what stays of it in the log once its
// content is erased, and the large contents that it referred to.
//
// Numbers, times, yes or no, and texts of a declared type (a status, a kind) stay; of the
// others those stay whose names stand in kept, because they say what the event is about and
// not what somebody has written. Everything else goes, and so does all of a type, and all
// members, that this build does not know.
func Erase(typ string, data []byte) (form []byte, contents []Ref, err error) {
	d, ok := registry[typ]
	if !ok {
		return []byte("{}"), nil, nil
	}
	data, withheld := SplitWithheld(data)
	v := reflect.New(d.GoType())
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, nil, fmt.Errorf("erase %s: %w", typ, err)
	}
	e := eraser{}
	e.value(v.Elem(), false)
	if form, err = marshal(v.Interface()); err == nil && len(withheld) > 0 {
		form, err = addWithheld(form, withheld) // a secret was there, whatever else was
	}
	return form, e.contents, err
}

// kept are the members that say what an event is about: ids, kinds, states, who and by which
// rule. A field says otherwise, either way, with the tag erased:"keep" or erased:"drop".
var kept = names(`
	action after answers approval_id approval_policy artifact_id artifact_status before begun by class code commit config covered_by
	decision digest error_kind execution_kind execution_profile external_agent_kind file_artifact_id file_operation finish_reason
	from_run_id grant grant_id held_by_run_id held_by_step_id id instance instance_id kind layer list mime_type model model_hint
	next_model next_provider node_id operation operation_id outcome policy posture priority project_id provider provider_hint
	provider_kind reach recovery_strategy request_id requested_by requested_model requested_provider result root_span_id rule run_id
	run_ids sandbox_layer settled signal snapshot source_run_id status stderr_artifact_id stdout_artifact_id step_id step_kind
	stream surface task_id tool_call_digest tool_call_id tool_name trace_flags trace_id type worker_id workspace_id workspace_mode
	workspace_path
`)

func names(list string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(list) {
		out[n] = true
	}
	return out
}

// eraser goes through a value and takes away what is somebody's content.
type eraser struct{ contents []Ref }

var (
	textType = reflect.TypeFor[Text]()
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	rawsType = reflect.TypeFor[[]json.RawMessage]()
)

func keeps(f reflect.StructField) bool {
	switch f.Tag.Get("erased") {
	case "keep":
		return true
	case "drop":
		return false
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return kept[name]
}

// value erases v; keep says that it is a member that stays.
func (e *eraser) value(v reflect.Value, keep bool) {
	switch {
	case v.Type() == textType:
		e.text(v)
		return
	case v.Type() == timeType:
		return
	case v.Type() == rawType, v.Type() == rawsType:
		v.SetZero()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				e.value(v.Field(i), keeps(f))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			e.value(v.Elem(), keep)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			e.value(v.Index(i), keep)
		}
	case reflect.String:
		if v.Len() > 0 && v.Type().PkgPath() == "" && !keep {
			v.SetString(ErasedMark)
		}
	case reflect.Map, reflect.Interface:
		v.SetZero()
	}
}

func (e *eraser) text(v reflect.Value) {
	t, _ := v.Interface().(Text)
	if t.ref != nil {
		e.contents = append(e.contents, *t.ref)
	}
	if n := t.Len(); n > 0 {
		v.Set(reflect.ValueOf(erasedText(n)))
	}
}

package preset

import "slices"

// What the built-in policies have in common.
const (
	profileReading = "repo_local"
	profileCoding  = "coding_agent"
)

// builtIns are part of the program, in order of id. They never change and never go.
var builtIns = []State{
	reading("architecture", "Architecture"),
	reading("design_review", "Design Review"),
	writing("documentation", "Documentation"),
	writing("frontend_implementation", "Frontend Implementation"),
	writing("implementation", "Implementation"),
	reading("planning", "Planning"),
	builtIn("project_assignment", Definition{
		Name: "Project Assignment", Surface: SurfaceTask, ExecutionProfile: profileCoding, ToolsEnabled: true, WritesAllowed: true,
		Approval: ApprovalInherit, ProjectMemory: "visible_only", ContextSources: "visible_only",
	}),
	writing("reliability_ops", "Reliability Ops"),
	reading("review_qa", "Review QA"),
	builtIn("safe_external_review", Definition{
		Name: "Safe External Review", Surface: SurfaceExternal, ExecutionProfile: profileReading,
		Approval: ApprovalRequire, ProjectMemory: "visible_only", ContextSources: "visible_only",
	}),
}

// BuiltIns returns the built-in policies in order of id.
func BuiltIns() []State { return slices.Clone(builtIns) }

func builtIn(id string, d Definition) State {
	return State{ID: id, BuiltIn: true, Exists: true, Definition: d}
}

// reading looks at a repository and changes nothing.
func reading(id, name string) State {
	return builtIn(id, Definition{
		Name: name, Surface: SurfaceTask, ExecutionProfile: profileReading, ToolsEnabled: true,
		Approval: ApprovalRequire, ProjectMemory: "include", ContextSources: "include_enabled",
	})
}

// writing changes one.
func writing(id, name string) State {
	return builtIn(id, Definition{
		Name: name, Surface: SurfaceTask, ExecutionProfile: profileCoding, ToolsEnabled: true, WritesAllowed: true,
		Approval: ApprovalRequire, ProjectMemory: "include", ContextSources: "include_enabled",
	})
}

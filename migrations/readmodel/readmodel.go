// Package readmodel holds the tables of the read models, in SQL that both
// databases take after a few words are put in place, see readdb.
//
// These tables are no migrations: a read model whose tables change gets a new
// version and is built again from the log. An @ at the end of a name stands for
// that version and the generation of the build.
package readmodel

import _ "embed" // for the SQL

// State keeps the checkpoints and the parked streams of all read models.
//
//go:embed state.sql
var State string

// Runs is the schema of tasks, runs and all that runs made.
//
//go:embed runs.sql
var Runs string

// Usage is the schema of what model calls cost.
//
//go:embed usage.sql
var Usage string

// Presets is the schema of work policies.
//
//go:embed presets.sql
var Presets string

// Audit is the schema of what the records of the log speak of.
//
//go:embed audit.sql
var Audit string

// Package preset is the work policies of an agent: what may be done under a name, with
// which instructions and on which route. Clients know them as agent presets.
//
// A policy is looked up once, when a task is made from it, and the task keeps what it
// said then. So a policy may change and go at any time, and no task changes with it.
package preset

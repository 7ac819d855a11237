// Package assess has a fast model look at a call that repeats itself, and say whether
// the calls before it make progress. What it says clears a suspicion or brings a
// person in; it never approves anything.
package assess

import (
	"hecate/domain/permission/repetition"
	"hecate/runtime/model"
)

// Result is what came of asking.
type Result struct {
	Assessment   repetition.Assessment
	Observations []string // what the model points to, bounded
	Problem      string   // why there is no usable assessment; "" if there is one
	Asked        bool     // a request may have left, so it may have cost something
	Usage        *model.Usage
}

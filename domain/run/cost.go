package run

import "fmt"

// picoPerMicro is how many pico-USD make a micro-USD. Sums are kept in pico-USD,
// because one token of a cheap model costs less than a micro-USD.
const picoPerMicro = 1_000_000

// MicroUSD rounds pico-USD to the micro-USD that are shown, half up.
func MicroUSD(pico int64) int64 { return (pico + picoPerMicro/2) / picoPerMicro }

// ReasonCeiling is the reason of a run that failed at its task's cost ceiling.
const ReasonCeiling = "cost_ceiling_exceeded"

// Charged is what counts against the task's ceiling, in pico-USD: what the chain of
// runs has spent, and what it had reserved for calls whose cost nobody knows.
func (s *State) Charged() int64 { return s.PriorPicoUSD + s.SpentPicoUSD + s.HeldPicoUSD }

// Open is what is reserved for what goes on at the moment, in pico-USD. If the run ends
// before it is known what that cost, it counts as spent.
func (s *State) Open() int64 {
	if s.InFlight != nil {
		return s.InFlight.Reserved
	}
	return s.checkReserved()
}

// atCeiling reports whether the chain of runs has spent what the task allows.
func (s *State) atCeiling() bool {
	return s.BudgetMicroUSD > 0 && s.Charged() >= s.BudgetMicroUSD*picoPerMicro
}

// Reserve refuses a model call that could cost more than is left of the ceiling;
// most is the highest price that it can have, in pico-USD. nil: the call may be made.
func (s *State) Reserve(most int64) *Fail {
	if s.BudgetMicroUSD == 0 || most <= s.BudgetMicroUSD*picoPerMicro-s.Charged() {
		return nil
	}
	return &Fail{ReasonCeiling, fmt.Sprintf("the next model call may cost up to %d micro-USD, and %s of the per-task cost ceiling of %d micro-USD are spent; raise the budget to go on",
		MicroUSD(most), s.spentText(), s.BudgetMicroUSD)}
}

func (s *State) spentText() string {
	text := fmt.Sprint(MicroUSD(s.PriorPicoUSD + s.SpentPicoUSD))
	if s.HeldPicoUSD > 0 {
		text += fmt.Sprintf(" (and up to %d for calls whose cost is not known)", MicroUSD(s.HeldPicoUSD))
	}
	return text
}

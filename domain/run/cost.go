package run

// picoPerMicro is how many pico-USD make a micro-USD. Sums are kept in pico-USD,
// because one token of a cheap model costs less than a micro-USD.
const picoPerMicro = 1_000_000

// MicroUSD rounds pico-USD to the micro-USD that are shown, half up.
func MicroUSD(pico int64) int64 { return (pico + picoPerMicro/2) / picoPerMicro }

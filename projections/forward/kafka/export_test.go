package kafka

// Mechanism is how a target's user signs in.
var Mechanism = mechanism

// Hurry makes brokers that are away show sooner.
func Hurry() { deliverMax /= 10 }

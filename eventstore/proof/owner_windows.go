package proof

// giveTo does nothing: a file gets the rights of its folder.
func giveTo(_, _ string) error { return nil }

package process

// Followers is how many commands would be told of a new limit.
func Followers(l *Lease) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.followers)
}

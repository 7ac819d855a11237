package retain

// Look lets a pass look at n records of a policy only.
func (w *Worker) Look(n int) { w.looks = n }

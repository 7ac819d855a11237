//go:build linux

package blackbox_test

import "sync"

// atOnce calls f n times at the same moment and returns what each call returned.
func atOnce[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			out[i] = f(i)
		})
	}
	done.Wait()
	return out
}

func count[T comparable](items []T, what T) (n int) {
	for _, i := range items {
		if i == what {
			n++
		}
	}
	return n
}

package process

import "golang.org/x/sys/unix"

// processesMax is how many processes and threads the server's user may have before its
// commands can start no more. It is high because it counts all that this user runs, and it
// does not hold root.
const processesMax = 16384

// limit bounds this process and those that it starts. A limit that is lower already stays.
func limit() {
	lower(unix.RLIMIT_NPROC, processesMax)
	lower(unix.RLIMIT_CORE, 0) // what a command knows does not stay behind in a file
}

func lower(which int, most uint64) {
	var l unix.Rlimit
	if unix.Getrlimit(which, &l) != nil {
		return
	}
	l.Cur, l.Max = min(l.Cur, most), min(l.Max, most)
	_ = unix.Setrlimit(which, &l) // to lower a limit is always allowed
}

package process

import (
	"encoding/binary"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A supervisor is told until when its command may live by messages on its control
// pipe: the time on the machine's clock, in nanoseconds, as eight bytes. A pipe never
// splits so few. The first message is there before the supervisor begins; of all that
// have come the greatest counts, since writers may overtake each other.
const (
	messageSize = 8
	noDeadline  = 0
)

// machineTime is the time since the machine began. It means the same in all its
// processes, nobody can set it, and it goes on while the machine is suspended.
func machineTime() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // fails on no kernel that runs this program
	return now.Nano()
}

// deadline is until on the machine's clock.
func deadline(until time.Time) int64 {
	now := machineTime() // first: whoever is stopped after it gives a deadline that is too early, not one too late
	return max(now+min(int64(remaining(until)), math.MaxInt64-now), noDeadline+1)
}

// tell writes a deadline to a control pipe. It never waits: if the pipe is full, the
// supervisor has long been stopped, and if it is closed, it is gone.
func tell(control *os.File, deadline int64) {
	conn, err := control.SyscallConn()
	if err != nil {
		return
	}
	message := binary.NativeEndian.AppendUint64(nil, uint64(deadline))
	_ = conn.Write(func(fd uintptr) bool {
		_, _ = unix.Write(int(fd), message)
		return true // whatever came of it
	})
}

// fuse is the supervisor's side: it waits for the deadline or the end of the pipe.
type fuse struct {
	told     bool // deadline is known
	deadline int64
	timer    int // a file that can be read from when the deadline has passed
}

// newFuse reads the first deadline. It returns nil if there is none to come, because
// the server is gone.
func newFuse() (*fuse, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := &fuse{timer: timer}
	for !f.told {
		if !f.read() {
			return nil, nil
		}
	}
	return f, nil
}

// read takes in what is in the pipe, or waits for it, and reports whether more may come.
func (f *fuse) read() bool {
	var b [512 * messageSize]byte
	n, err := unix.Read(controlFD, b[:])
	if err != nil {
		return err == unix.EINTR || err == unix.EAGAIN
	}
	for at := 0; at+messageSize <= n; at += messageSize {
		f.told, f.deadline = true, max(f.deadline, int64(binary.NativeEndian.Uint64(b[at:])))
	}
	return n > 0
}

func (f *fuse) over() bool { return f.deadline != noDeadline && machineTime() >= f.deadline }

// wait returns when the deadline has passed without news, and then over is true, or
// when the pipe has ended.
func (f *fuse) wait() (over bool) {
	for !f.over() {
		at := unix.ItimerSpec{Value: unix.NsecToTimespec(f.deadline)} // of zero: never
		_ = unix.TimerfdSettime(f.timer, unix.TFD_TIMER_ABSTIME, &at, nil)
		files := []unix.PollFd{{Fd: controlFD, Events: unix.POLLIN}, {Fd: int32(f.timer), Events: unix.POLLIN}}
		_, _ = unix.Poll(files, -1) // interrupted: it changes nothing to look
		// News first: a supervisor that was stopped may find both.
		if files[0].Revents != 0 && !f.read() {
			return false
		}
	}
	return true
}

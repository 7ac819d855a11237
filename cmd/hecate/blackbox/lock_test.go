//go:build linux

package blackbox_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// crowded is a server with workers enough for many runs that wait for one another.
func crowded(t *testing.T) *server {
	t.Helper()
	return sharedServer(t, "crowded", "HECATE_BACKEND=memory", "HECATE_TASK_QUEUE_WORKERS=16")
}

// Two runs take turns at a lock: the second waits for everybody to see, can be cancelled
// while it waits, and goes on when the first is done.
func TestLocksBetweenRuns(t *testing.T) {
	t.Parallel()
	s := crowded(t)
	locksBetweenRuns(t, s, s)
}

// It is the same between runs of two nodes.
func TestLocksBetweenNodes(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, "HECATE_TASK_QUEUE_WORKERS=4", endless) // any of them may have to execute all four runs
	locksBetweenRuns(t, all[0], all[1])
}

func locksBetweenRuns(t *testing.T, a, b *server) {
	t.Helper()
	dir := t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"build-output\"\npatterns = [\"exec(sh) args(-c *)\"]\n")
	holder := func(id string) reply {
		return asks(program(id, "sh", "-c", "echo in >> m; until [ -e go ]; do sleep 0.02; done; echo out >> m"))
	}
	ahead := args{"yes": true}
	first, _ := a.governed(t, dir, ahead, holder("c1"), says("done"))
	eventually(t, "the first holds the lock", func() bool { return fileLines(filepath.Join(dir, "m")) == 1 })
	second, _ := b.governed(t, dir, ahead, holder("c2"), says("done"))
	third, _ := a.governed(t, dir, ahead, holder("c3"), says("done"))
	free, _ := b.governed(t, dir, ahead, asks(program("c4", "touch", "free")), says("done"))
	for _, r := range []run{second, third} {
		eventually(t, "it waits", func() bool { return len(ofType(r.events(t), "tool.lock.waiting")) > 0 })
		want{
			"lock": "build-output", "held_by_run_id": first.id, "held_by_step_id": first.stepOf(t, "exec").str("id"), "tool_name": "exec",
		}.check(t, "waiting", only(t, r, "tool.lock.waiting"))
		equal(t, "dispatched while it waits", r.intents(t), "")
	}
	free.becomes(t, "completed") // what needs no lock does not wait
	second.cancel(t)
	equal(t, "cancelled", second.becomes(t, "cancelled").str("last_error"), "run cancelled: enough")
	put(t, projectFile(dir), read(t, projectFile(dir))+"[permissions]\ndeny = [\"exec(touch) args(*)\"]\n")
	write(t, filepath.Join(dir, "go"), "")
	first.becomes(t, "completed")
	third.becomes(t, "completed")
	equal(t, "turns", read(t, filepath.Join(dir, "m")), "in\nout\nin\nout\n")
	equal(t, "locks of the call", fmt.Sprint(only(t, third, "tool.dispatch.intended")["locks"]), "[build-output]")
	equal(t, "waits", len(ofType(third.events(t), "tool.lock.waiting")), 1)
	equal(t, "the cancelled one", second.intents(t), "")
	settled := ofType(first.events(t), "tool.dispatch.settled")[0].num("sequence")
	if begun := ofType(third.events(t), "tool.dispatch.intended")[0].num("sequence"); begun < settled {
		t.Errorf("the log has the second holder at %d, and the end of the first at %d", begun, settled)
	}
}

// A call that waited for a lock is decided about again: a deny entry written meanwhile counts.
func TestDenialsWhileACallWaitsForALock(t *testing.T) {
	t.Parallel()
	s, dir := crowded(t), t.TempDir()
	locks := "[[locks]]\nname = \"build\"\npatterns = [\"exec(sh) args(-c *)\", \"exec(touch) args(*)\"]\n"
	put(t, projectFile(dir), locks)
	first, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "sh", "-c", "until [ -e go ]; do sleep 0.02; done")), says("done"))
	eventually(t, "the first runs", func() bool { return first.intents(t) == "c1" })
	second, c := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "made")), says("done"))
	eventually(t, "it waits", func() bool { return len(ofType(second.events(t), "tool.lock.waiting")) > 0 })
	put(t, projectFile(dir), locks+"[permissions]\ndeny = [{ pattern = \"exec(touch) args(*)\", reason = \"make nothing\" }]\n")
	write(t, filepath.Join(dir, "go"), "")
	first.becomes(t, "completed")
	second.becomes(t, "completed")
	equal(t, "dispatched", second.intents(t), "")
	contains(t, "result", c.request(t, 1).answered(t, "c1")[0], "make nothing")
	third, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "sh", "-c", "true")), says("done"))
	third.becomes(t, "completed") // the lock was given back
}

// A run of a single command takes turns with the calls of models.
func TestLocksOfDirectRuns(t *testing.T) {
	t.Parallel()
	s, dir := crowded(t), t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"build\"\npatterns = [\"exec(sh) args(-c *)\", \"shell(touch made)\"]\n")
	holder, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "sh", "-c", "until [ -e go ]; do sleep 0.02; done")), says("done"))
	eventually(t, "it runs", func() bool { return holder.intents(t) == "c1" })
	direct := s.begin(t, sh("touch made", in(dir)))
	eventually(t, "it waits", func() bool { return len(ofType(direct.events(t), "tool.lock.waiting")) > 0 })
	other := s.begin(t, sh("true", in(dir)))
	other.becomes(t, "completed")
	equal(t, "what is made while it waits", strings.Contains(fmt.Sprint(entries(t, dir)), "made"), false)
	write(t, filepath.Join(dir, "go"), "")
	direct.becomes(t, "completed")
	holder.becomes(t, "completed")
	next := s.begin(t, sh("touch made", in(dir)))
	next.becomes(t, "completed") // the lock was given back
}

// The files count also while a call waits: it waits for no lock that is taken out of them,
// and is refused at once by what is written into them.
func TestFilesThatChangeWhileACallWaits(t *testing.T) {
	t.Parallel()
	s, dir := crowded(t), t.TempDir()
	lock := func(name, pattern string) string {
		return fmt.Sprintf("[[locks]]\nname = %q\npatterns = [\"exec(sh) args(-c *)\", %q]\n", name, pattern)
	}
	put(t, projectFile(dir), lock("one", "exec(touch) args(1)")+lock("two", "exec(touch) args(2)"))
	holder, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "sh", "-c", "until [ -e go ]; do sleep 0.02; done")), says("done"))
	eventually(t, "it runs", func() bool { return holder.intents(t) == "c1" })
	first, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "1")), says("done"))
	second, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "2")), says("done"))
	for _, r := range []run{first, second} {
		eventually(t, "it waits", func() bool { return len(ofType(r.events(t), "tool.lock.waiting")) > 0 })
	}
	put(t, projectFile(dir), lock("two", "exec(touch) args(2)")+"[permissions]\ndeny = [\"exec(touch) args(2)\"]\n")
	first.becomes(t, "completed")
	second.becomes(t, "completed")
	equal(t, "what needs no lock any more", first.intents(t), "c1")
	equal(t, "what is denied", second.intents(t), "")
	write(t, filepath.Join(dir, "go"), "")
	holder.becomes(t, "completed")
}

// A lock is not held for ever by a node that is gone: its lease ends, and the lock with it.
func TestLocksOfADeadNode(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2)
	dir := t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"build\"\npatterns = [\"exec(sleep) args(*)\", \"exec(touch) args(*)\"]\n")
	sleep := strings.Fields(nap(60))
	holder, c := all[0].governed(t, dir, args{"yes": true}, asks(program("c1", sleep[0], sleep[1:]...)), says("done"))
	on, others := holder.executor(t, all)
	eventually(t, "the lock is held", func() bool { return holder.intents(t) == "c1" })
	waiter, _ := others[0].governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "made")), says("done"))
	eventually(t, "the other waits, or has not begun", func() bool { return len(ofType(waiter.events(t), "run.created")) > 0 && waiter.intents(t) == "" })
	on.kill()
	waiter.at(others[0]).becomes(t, "completed")
	equal(t, "made", len(entries(t, dir)), 2)
	holder.at(others[0]).becomes(t, "completed")
	contains(t, "the call of the dead node", c.request(t, 1).answered(t, "c1")[0], "outcome unknown")
}

// A job in the background holds its locks until it ends; killing it takes none.
func TestLocksOfABackgroundJob(t *testing.T) {
	t.Parallel()
	s, dir := crowded(t), t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"server\"\npatterns = [\"background(sleep 60)\", \"exec(touch) args(*)\", \"job_kill\"]\n")
	job := s.model.script()
	job.each = func(n int) reply {
		switch n {
		case 0:
			return asks(call("c1", "terminal_open", args{"command": "sleep", "args": []string{"60"}}))
		case 1:
			return asks(call("c2", "exec", args{"program": "sh", "args": []string{"-c", "until [ -e go ]; do sleep 0.02; done"}}))
		case 2:
			_, texts := job.asked()[2].results()
			return asks(call("c3", "terminal_kill", args{"terminal_id": terminalID(texts[0])}))
		}
		return says("done")
	}
	r := s.beginAhead(t, agent(job, in(dir), levels), args{"yes": true})
	eventually(t, "the job has begun", func() bool { return r.intents(t) == "c1 c2" })
	equal(t, "locks of the job", fmt.Sprint(first(t, r.events(t), "tool.dispatch.intended")["locks"]), "[server]")
	other, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "made")), says("done"))
	eventually(t, "the other waits", func() bool { return len(ofType(other.events(t), "tool.lock.waiting")) > 0 })
	want{"held_by_run_id": r.id}.check(t, "waiting", only(t, other, "tool.lock.waiting"))
	write(t, filepath.Join(dir, "go"), "")
	r.becomes(t, "completed")
	other.becomes(t, "completed")
	killed := part(t, ofType(r.events(t), "tool.dispatch.intended"), 2, 3)[0].obj("data")
	want{"tool_name": "terminal_kill", "locks": absent}.check(t, "the kill", killed)
}

// terminalID finds the id in what terminal_open returned.
func terminalID(text string) string {
	_, rest, _ := strings.Cut(text, "terminal_id=")
	return strings.FieldsFunc(rest+" ", func(r rune) bool { return r == ' ' || r == '\n' })[0]
}

// A run that holds a lock and comes back from a question finds a worker, however many
// wait for its lock, and however few runs may be executed at a time.
func TestLocksAndWorkers(t *testing.T) {
	t.Parallel()
	for name, bound := range map[string]string{"one worker": "HECATE_TASK_QUEUE_WORKERS=1", "one run at a time": "HECATE_TASK_MAX_CONCURRENT=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holderComesBack(t, serve(t, "HECATE_BACKEND=memory", bound))
		})
	}
}

// It is the same over the nodes of a database.
func TestLocksAndRunsOfAllNodes(t *testing.T) {
	t.Parallel()
	holderComesBack(t, nodes(t, 2, "HECATE_TASK_MAX_CONCURRENT=1", endless)[0])
}

func holderComesBack(t *testing.T, s *server) {
	t.Helper()
	dir := t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"server\"\npatterns = [\"background(sleep 60)\", \"exec(touch) args(*)\"]\n")
	r, _ := s.governed(t, dir, args{"allow_tools": []string{"background(sleep 60)"}},
		asks(call("c1", "terminal_open", args{"command": "sleep", "args": []string{"60"}})), asks(program("c2", "true")), says("done"))
	r.question(t)
	other, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "made")), says("done"))
	eventually(t, "the other waits", func() bool { return len(ofType(other.events(t), "tool.lock.waiting")) > 0 })
	r.say(t, yes).ok(t)
	r.becomes(t, "completed")
	other.becomes(t, "completed")
}

// While a run waits for a lock another one is executed in its place. That one is not cut
// short when the wait is over: its model call is made once, and what it has left running
// goes on.
func TestAWaitInterruptsNobody(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_QUEUE_WORKERS=1"), t.TempDir()
	put(t, projectFile(dir), "[[locks]]\nname = \"server\"\npatterns = [\"background(sleep 60)\", \"exec(touch) args(*)\"]\n")
	holder, _ := s.governed(t, dir, args{"allow_tools": []string{"background(sleep 60)"}},
		asks(call("c1", "terminal_open", args{"command": "sleep", "args": []string{"60"}})), asks(program("c2", "true")), says("done"))
	holder.question(t)
	waiter, _ := s.governed(t, dir, args{"yes": true}, asks(program("c1", "touch", "made")), says("done"))
	eventually(t, "it waits", func() bool { return len(ofType(waiter.events(t), "tool.lock.waiting")) > 0 })
	replies := []reply{asks(call("c1", "terminal_open", args{"command": "sleep", "args": []string{"61"}}))}
	for i := range 10 { // longer than it takes to see that the lock is free
		replies = append(replies, asks(program(fmt.Sprint("s", i), "sleep", fmt.Sprintf("0.0%d", i))))
	}
	other, c := s.governed(t, t.TempDir(), args{"yes": true}, append(replies, says("done"))...)
	eventually(t, "it has a worker", func() bool { return strings.HasPrefix(other.intents(t), "c1") })
	holder.cancel(t)
	other.becomes(t, "completed")
	waiter.becomes(t, "completed")
	equal(t, "model calls of the other run", c.count(), len(replies)+1)
	equal(t, "times that it was taken", len(ofType(other.events(t), "run.claimed")), 1)
}

// Two runs that each hold a lock by a job in the background, and want the other's, would
// wait for ever: one of them is told so instead.
func TestRunsThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	s, dir := crowded(t), t.TempDir()
	put(t, projectFile(dir), `
[[locks]]
name = "a"
patterns = ["background(sleep 70)", "exec(touch) args(a)"]
[[locks]]
name = "b"
patterns = ["background(sleep 71)", "exec(touch) args(b)"]
`)
	begin := func(sleep, file string) (run, *conversation) {
		return s.governed(t, dir, args{"yes": true}, asks(call("c1", "terminal_open", args{"command": "sleep", "args": []string{sleep}})),
			asks(program("c2", "sh", "-c", "until [ -e go ]; do sleep 0.02; done")), asks(program("c3", "touch", file)), says("done"))
	}
	first, c1 := begin("70", "b")
	second, c2 := begin("71", "a")
	for _, r := range []run{first, second} {
		eventually(t, "both hold their lock", func() bool { return r.intents(t) == "c1 c2" })
	}
	write(t, filepath.Join(dir, "go"), "")
	first.becomes(t, "completed")
	second.becomes(t, "completed")
	refused := 0
	for r, c := range map[run]*conversation{first: c1, second: c2} {
		if r.intents(t) == "c1 c2 c3" {
			continue
		}
		refused++
		contains(t, "what the model is told", c.request(t, 3).answered(t, "c1", "c2", "c3")[2], "not run", "wait for each other", "terminal_kill")
	}
	equal(t, "refused calls", refused, 1)
}

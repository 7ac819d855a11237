package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"hecate/tools/sandbox"
)

func TestInputOf(t *testing.T) {
	for want, commands := range map[sandbox.Input][]string{
		sandbox.InputShell: {
			"sh", "bash", "/bin/bash", "sh -", "sh -s", "sh -s a b", "bash -i", "bash -l", "bash --login", "bash --rcfile f", "bash -o pipefail",
			"bash -i f", "bash -ic x", "bash -c -i x", "bash /dev/stdin", "sh /proc/self/fd/0", "sh -- -", "zsh", "fish", "bash-5.2",
			"env A=1 sh", "env -S sh", "timeout 5 bash", "sudo -u x sh", "busybox sh", "sh -c bash", "sh -c a;exec<x", "su", "su -", "script", "chroot /x", "unshare -r",
			"bash -c 'source /dev/stdin'",
		},
		sandbox.InputCode: {
			"python", "python3", "python3.12", "python -", "python -i x.py", "python -i -c x", "python -u", "python -W ignore", "node", "node -i", "node -", "node -e x -i",
			"node --interactive", "node --inspect", "perl", "perl -", "perl -w", "perl -d x", "ruby", "ruby -w", "irb", "php", "php -a", "lua", "lua -i x", "deno", "deno repl", "deno run -",
			"ipython x", "env python", "sh -c python3", "perl -Ilib",
		},
		sandbox.InputData: {
			"cat", "sh x", "sh x -i", "bash -e x", "bash -c x", "bash -ec x", "bash -o pipefail x", "bash -- x", "python x", "python -c x", "python -c x -i", "python -m x", "python -W ignore x",
			"python -u x -", "node x", "node -e x", "node -r y x", "node --eval x", "node --eval=x", "node -p x y", "perl x", "perl -pe x", "perl -e x y", "perl -Ilib x", "ruby -e x", "php -r x", "php x", "lua -e x", "lua x",
			"deno run x", "bun test", "su -c x", "npm run dev", "env A=1 python x", "timeout 5 sh x", "source x", "git",
		},
	} {
		for _, c := range commands {
			argv := strings.Fields(c)
			if _, after, ok := strings.Cut(c, "'"); ok {
				argv = append(strings.Fields(c[:strings.IndexByte(c, '\'')]), strings.TrimSuffix(after, "'"))
			}
			if c == "sh -c a;exec<x" {
				argv = []string{"sh", "-c", "a; exec zsh -l"}
			}
			if got := sandbox.InputOf(argv); got != want {
				t.Errorf("%s: got %d, want %d", c, got, want)
			}
		}
	}
	if got := sandbox.InputOf(nil); got != sandbox.InputData {
		t.Error(got)
	}
}

// typed is one input, and "" or a part of the reason why it is refused.
type typed struct{ input, reason string }

func TestScannerOfAShell(t *testing.T) {
	const detaches, network = "detaches processes", "network access is disabled"
	long := strings.Repeat("x", 40<<10)
	for name, inputs := range map[string][]typed{
		"plain":            {{"ls\n", ""}, {"npm run dev &\n", ""}, {"echo 'nohup x'; grep setsid f\n", ""}, {"setsid x\n", detaches}, {"ls\n", ""}},
		"each detacher":    {{"nohup x\n", detaches}, {"disown\n", detaches}, {"daemonize x\n", detaches}, {"screen -dm x\n", detaches}, {"tmux new -d\n", detaches}, {"echo x | at now\n", detaches}},
		"behind others":    {{"env A=1 /usr/bin/setsid x\n", detaches}, {"sh -c 'nohup x'\n", detaches}, {"(x; tmux)\n", detaches}, {"exec -a y setsid x\n", detaches}, {"se't'sid x\n", detaches}, {"$(nohup x)\n", detaches}},
		"in pieces":        {{"no", ""}, {"hup x", detaches}, {"t a wor", ""}, {"d\n", ""}, {"hup x\n", ""}},
		"in pieces, lines": {{"if true; then\n", ""}, {"set", ""}, {"sid x\n", detaches}, {"ls\n", ""}, {"fi\n", ""}, {"sid x\n", ""}},
		"continued":        {{"set\\\n", ""}, {"sid x\n", detaches}},
		"not continued":    {{"echo a\\\\\n", ""}, {"sid x\n", ""}},
		"a here-document":  {{"cat <<E\n", ""}, {"use screen or at\n", ""}, {"E\n", ""}, {"tmux\n", detaches}},
		"sh reads it":      {{"sh <<E\n", ""}, {"screen x\nE\n", detaches}},
		"no shell at all":  {{"def f(:\n", ""}, {"  x = ')\n", ""}, {"os.system('setsid x')\n", detaches}},
		"zsh":              {{"sleep 9 &!\n", detaches}},
		"network":          {{"curl x\n", network}, {"wget", network}, {"cu", ""}, {"rl x\n", network}},
		"too much at once": {{strings.Repeat("ls\n", 30_000), "is too long"}, {"ls\n", ""}},
		"never complete":   {{"echo '" + long, ""}, {long, "not complete after 65536 bytes"}, {"'\n", ""}, {long, ""}, {long, "not complete"}},
		"no history":       {{long + "\n", ""}, {long + "\n", ""}, {long + "\n", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			scan(t, sandbox.NewScanner([]string{"bash"}, sandbox.Policy{Attached: true}), inputs)
		})
	}
}

func TestScannerOfCode(t *testing.T) {
	const detaches, network = "detaches processes", "network access is disabled"
	for name, inputs := range map[string][]typed{
		"plain":     {{"screen = 1\n", ""}, {"print('at')\n", ""}, {"'unterminated\n", ""}, {strings.Repeat("x", 60<<10), ""}, {strings.Repeat("x", 60<<10), ""}},
		"detaching": {{"os.setsid()\n", detaches}, {"Popen(x, start_new_session=True)\n", detaches}, {"os.system('nohup x')\n", detaches}},
		"in pieces": {{"os.set", ""}, {"sid()\n", detaches}, {"dawn()\n", ""}, {"sid()\n", ""}},
		"network":   {{"get('https://x.y')\n", network}, {"get('htt", ""}, {"ps://x.y')\n", network}},
	} {
		t.Run(name, func(t *testing.T) {
			scan(t, sandbox.NewScanner([]string{"python3"}, sandbox.Policy{Attached: true}), inputs)
		})
	}
}

func TestDataIsNotScanned(t *testing.T) {
	scan(t, sandbox.NewScanner([]string{"sh", "x"}, sandbox.Policy{Attached: true}), []typed{{"setsid x\n", ""}, {"'", ""}, {strings.Repeat("(", 200<<10), ""}})
}

func scan(t *testing.T, s *sandbox.Scanner, inputs []typed) {
	t.Helper()
	for i, in := range inputs {
		err := s.Scan(in.input)
		if in.reason == "" && err != nil || in.reason != "" && (err == nil || !strings.Contains(err.Error(), in.reason)) {
			t.Errorf("%d: %.60q: got %v, want %q", i, in.input, err, in.reason)
		}
		if kept := longest(s.Whole("")); kept > 64<<10 {
			t.Errorf("%d: %d bytes are kept", i, kept)
		}
	}
}

func longest(texts []string) (n int) {
	for _, t := range texts {
		n = max(n, len(t))
	}
	return n
}

// On a terminal device some characters edit the line, and others make a shell forget it.
func TestScannerOfATerminalDevice(t *testing.T) {
	const detaches, network, edits = "detaches processes", "network access is disabled", "edits the line"
	long := strings.Repeat("x", 3000)
	for name, inputs := range map[string][]typed{
		"plain":              {{"ls\r", ""}, {"echo 'nohup x'\n", ""}, {"setsid x\r", detaches}, {"curl x\n", network}},
		"edited":             {{"noX\x7fhup x\n", edits}, {"noh\t", edits}, {"\x1b[A\n", edits}, {"x\x15nohup y\n", edits}, {"\x16\x03", edits}, {"\x00", edits}, {"ls\n", ""}},
		"pieces":             {{"no", ""}, {"hup x\n", detaches}},
		"ended in between":   {{"no\x04hup x\n", detaches}, {"no\x04", ""}, {"hup x\n", detaches}},
		"interrupted":        {{"echo '\x03", ""}, {"nohup x\n", detaches}, {"ls\n", ""}},
		"not interrupted":    {{"no\x03", ""}, {"hup x\n", detaches}, {"ls\n", ""}},
		"in one go":          {{"echo '\x03nohup x\n", detaches}, {"'\x1anohup x\n", detaches}},
		"a whole one":        {{"ls\n\x03nohup x\n", detaches}, {"sleep 9\n", ""}, {"\x03", ""}, {"\x03\x03\x03\x03\x03", ""}, {"ls\n", ""}},
		"too many":           {{"a '\x03b '\x03c '\x03d '\x03", "open another terminal"}, {"ls\n", ""}},
		"long lines":         {{long, ""}, {long, "at most 4095 bytes"}, {"\n" + long, ""}, {"\x03" + long, "at most"}},
		"letters of others":  {{"echo für 日本\n", ""}},
		"once more the kept": {{"if true\n", ""}, {"then\n\x03", ""}, {"fi\nsetsid x\n", detaches}},
	} {
		t.Run(name, func(t *testing.T) {
			scan(t, sandbox.NewTTYScanner([]string{"bash"}, sandbox.Policy{Attached: true}), inputs)
		})
	}
	scan(t, sandbox.NewTTYScanner([]string{"python3"}, sandbox.Policy{Attached: true}), []typed{{"os.set\x03sid()\n", detaches}, {"os.se\x7f", edits}, {"print(1)\n", ""}})
	scan(t, sandbox.NewTTYScanner([]string{"vim", "x"}, sandbox.Policy{Attached: true}), []typed{{"\x1b:wq\r", ""}, {strings.Repeat("x", 9000), ""}})
	got := sandbox.NewTTYScanner([]string{"sh"}, sandbox.Policy{}).Whole("a '\x03b\r")
	if strings.Join(got, "|") != "a 'b\n|b\n" {
		t.Errorf("what it may be: %q", got)
	}
}

// FuzzTTYScanner: whatever is typed, what passes holds no character that edits, and no
// detacher at the beginning of a line that an interrupt has begun.
func FuzzTTYScanner(f *testing.F) {
	for _, text := range []string{"a\x03nohup b\r", "'\x1a\x1a", "\x04\r\n", "if a\nthen\x1c", "x\ty", strings.Repeat("x", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := sandbox.NewTTYScanner([]string{"sh"}, sandbox.Policy{Attached: true, Network: true})
		before := s.Whole(text)
		if s.Scan(text) != nil {
			return
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\n\r\x03\x04\x1a\x1c", r) || r == 0x7f }); i >= 0 {
			t.Fatalf("%q passes", text)
		}
		for _, w := range before {
			if strings.HasPrefix(w, "nohup \n") || strings.ContainsAny(w, "\x03\x04\r") {
				t.Fatalf("%q passes as %q", text, w)
			}
		}
		if n := len(s.Whole("")); n > 4 {
			t.Fatalf("%d texts are kept", n)
		}
	})
}

// FuzzScanner cuts a text at two places: commands, and code, that are refused at once must
// not pass in pieces, and what is kept stays bounded.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		"setsid x\n", "if a; then\nnohup b\nfi\n", "cat <<A\nx\nA\nsetsid y\n", "a\\\nb\n", "$'a\\'\nsetsid x\n'", "((1", "f() { tmux; }\n", "case x in\na) disown;;\nesac\n", "a '\n\x00\xff",
		"cat <<A\nA\nnohup b\n", "x <<-A <<B\n\tA\nB\nif\n", "echo a; if b\nthen setsid c\nfi\n",
	} {
		f.Add(text, uint16(3), uint16(9), true)
		f.Add(text, uint16(0), uint16(5), false)
	}
	f.Fuzz(func(t *testing.T, text string, i, j uint16, shell bool) {
		argv := []string{"python"}
		if shell {
			argv = []string{"sh"}
		}
		p := sandbox.Policy{Attached: true, Network: true}
		var denied *sandbox.Denied
		whole := errors.As(sandbox.NewScanner(argv, p).Scan(text), &denied)
		a, b := min(int(i), len(text)), min(int(i)+int(j), len(text))
		s := sandbox.NewScanner(argv, p)
		pieces := false
		for _, piece := range []string{text[:a], text[a:b], text[b:]} {
			err := s.Scan(piece)
			pieces = pieces || errors.As(err, new(*sandbox.Denied))
			if kept := longest(s.Whole("")); kept > 64<<10 {
				t.Fatalf("%d bytes are kept", kept)
			}
		}
		if _, commands := sandbox.Programs(text); shell && !commands {
			return // it is judged by its words, which depend on where it ends
		}
		if whole && !pieces {
			t.Fatalf("%q is refused as a whole (%s), and passes as %q, %q, %q", text, denied.Reason, text[:a], text[a:b], text[b:])
		}
	})
}

package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"hecate/tools/sandbox"
)

const (
	network = "network access is disabled"
	write   = "write access is disabled"
)

func TestCheck(t *testing.T) {
	off := sandbox.Policy{}
	readOnly := sandbox.Policy{ReadOnly: true}
	on := sandbox.Policy{Network: true}
	listed := sandbox.Policy{Network: true, AllowedHosts: []string{"example.com"}}
	private := sandbox.Policy{Network: true, AllowPrivateIPs: true}
	for _, c := range []struct {
		policy  sandbox.Policy
		command string
		want    string // reason, or "" if it passes
	}{
		// Words that only look alike.
		{off, "echo hello func main", ""},
		{off, "perform x && sync y; rsync_like z", ""},
		{off, "which curl; command -v wget; grep -rn 'curl ' .; man ssh", ""},
		{readOnly, "perform x; echo 'rm -rf /'; echo a '>' b", ""},
		{off, "# see https://example.com\necho ok", ""},
		{off, "cat <<EOF\nsee https://example.com\nEOF", ""},
		{off, "npm test 2>&1 | tail -5 >/dev/null", ""},

		// Network commands, plain and behind others.
		{off, "curl example.com", network},
		{off, "/usr/bin/CURL x", network},
		{off, "cd x && wget -q y || true", network},
		{off, "echo $(curl x)", network},
		{off, "cat <<EOF\n$(curl x)\nEOF", network},
		{off, "if true; then nc -l 80; fi", network},
		{off, "f() { ssh h; }; f", network},
		{off, "X=1 env -i -u C A=b curl x", network},
		{off, "env -S 'curl x'", network},
		{off, "env --split-string='-i curl x'", network},
		{off, "sudo -u bob -- timeout -k 5 --signal KILL 10 nohup nice -n 5 curl x", network},
		{off, "echo x | xargs -n1 -I {} curl {}", network},
		{off, "bash -lc 'curl x'", network},
		{off, "sh -e -c \"sh -c 'wget y'\"", network},
		{off, "bash -o pipefail -c 'wget y'", network},
		{off, "eval cu'rl' x", network},
		{off, "c'u'\"r\"l x", network},
		{off, "\\curl x", network},
		{off, "$'\\x63url' x", network},
		{off, "sh <<EOF\ncurl x\nEOF", network},
		{off, "bash <<< 'curl x'", network},
		{off, "trap 'curl x' EXIT", network},
		{off, "find . -exec curl {} \\;", network},
		{off, "watch -n 5 curl x", network},
		{off, "command curl x; builtin true", network},
		{off, "exec 3<>/dev/tcp/example.com/80", network},
		{off, "python3 -c \"import urllib.request; urllib.request.urlopen('https://x.y')\"", network},
		{off, "pip install git+https://x.y/z", network},
		{off, "export U=http://x.y", network},
		{off, "git clone ../a", network},
		{off, "git -C x -c a.b=c --git-dir y push origin main", network},
		{off, "git -c alias.x='!curl y' x", network},
		{off, "git remote update", network},
		{off, "git status && git log --oneline push", ""},
		{off, "curl 'unterminated", network},
		{off, "git commit -m 'push to origin'", ""},

		// Changes.
		{readOnly, "ls -la; cat a | sort -u; git status; git diff HEAD~1; find . -name '*.go'", ""},
		{readOnly, "rm -rf x", write},
		{readOnly, "ls >f", write},
		{readOnly, "ls>f", write},
		{readOnly, "ls >>f", write},
		{readOnly, "ls &>f", write},
		{readOnly, "ls >&f", write},
		{readOnly, "ls >/dev/null 2>&1", ""},
		{readOnly, "sed -i s/a/b/ f", write},
		{readOnly, "sed -ni.bak s/a/b/ f", write},
		{readOnly, "sed --in-place s/a/b/ f", write},
		{readOnly, "sed -n -e s/i/j/p -es/i/j/ f", ""},
		{readOnly, "perl -pi -e s/a/b/ f", write},
		{readOnly, "find . -delete", write},
		{readOnly, "find . -exec rm {} +", write},
		{readOnly, "ls | xargs rm", write},
		{readOnly, "echo x | tee f", write},
		{readOnly, "git commit -m x", write},
		{readOnly, "git stash", write},
		{readOnly, "git stash list", ""},
		{readOnly, "$CMD x", write},
		{readOnly, "sh -c \"$X\"", write},
		{readOnly, "{rm,-rf,x}", write},
		{readOnly, "if then", write},
		{readOnly, strings.Repeat("(", 200<<10), write},
		{readOnly, "rm x; curl y", write},
		{off, "rm -rf x > y; mkdir z", ""},
		{off, "$CMD x", ""},
		{off, "if then", ""},

		// Hosts.
		{on, "curl https://example.com/x?a=b", ""},
		{on, "curl http://127.0.0.1:8080/", `host "127.0.0.1" is loopback`},
		{on, "curl http://localhost.", `host "localhost" is loopback`},
		{on, "curl localhost:8765/x", `host "localhost" is loopback`},
		{on, "curl http://[::1]/", `host "::1" is loopback`},
		{on, "curl [::1]:80/", `host "::1" is loopback`},
		{on, "curl http://[::ffff:10.0.0.1]/", `host "::ffff:10.0.0.1" is a private network address`},
		{on, "wget http://192.168.1.1", `host "192.168.1.1" is a private network address`},
		{on, "wget http://169.254.169.254/latest", `host "169.254.169.254" is link-local`},
		{on, "wget http://0/", `host "0" is the unspecified address`},
		{on, "wget http://239.1.1.1/", `host "239.1.1.1" is multicast`},
		{on, "curl http://127.1/", `host "127.1" is loopback`},
		{on, "curl 0x7f.1", `host "0x7f.1" is loopback`},
		{on, "curl http://2130706433/", `host "2130706433" is loopback`},
		{on, "curl http://user:pw@127.0.0.1/", `host "127.0.0.1" is loopback`},
		{on, "curl \"http://a'@127.0.0.1/\"", `host "127.0.0.1" is loopback`},
		{on, "nc -z 10.0.0.1 22", `host "10.0.0.1" is a private network address`},
		{on, "ssh root@10.0.0.1", `host "10.0.0.1" is a private network address`},
		{on, "curl -m 5 --retry 3 example.com", ""},
		{on, "curl http:///x", `URL "http:///x" has no host`},
		{on, "curl http://a:b:c/", `URL "http://a:b:c/" is not parseable`},
		{on, "sh -c 'curl http://127.0.0.1'", `host "127.0.0.1" is loopback`},
		{on, "echo http://8.8.8.8 http://999.1.1.1", ""},
		{private, "curl http://127.0.0.1:8080/", ""},
		{listed, "curl https://EXAMPLE.com./", ""},
		{listed, "curl https://evil.example", `host "evil.example" is not in the allowlist`},
		{listed, "curl https://$HOST/", "host \"\uFFFD\" is not in the allowlist"},
		{listed, "git clone https://evil.example/r", `host "evil.example" is not in the allowlist`},
	} {
		err := sandbox.Check(c.command, c.policy)
		var denied *sandbox.Denied
		got := ""
		if errors.As(err, &denied) {
			got = denied.Reason
			if err.Error() != "sandbox policy denied: "+got {
				t.Errorf("text: %v", err)
			}
		}
		if got != c.want {
			t.Errorf("%+v %.80q: got %q, want %q", c.policy, c.command, got, c.want)
		}
	}
}

// FuzzCheck checks that no command text breaks the check, and that a command
// which is refused alone is refused after another one as well.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"echo hi", "curl x", "env -S 'a b' c", "git -c alias.a=!b a", "find . -exec rm {} \\;", "cat <<A\n$(b)\nA", "a=(b c) d",
		"case x in y) z;; esac", "sudo -u", "timeout", "xargs -I", "$'\\x'", "{a,b}", "[[ a =~ b ]]", "((1+1))", "sh -c", "curl http://[::1", "\xff\x00",
	} {
		f.Add(s, true, true)
		f.Add(s, false, false)
	}
	f.Fuzz(func(_ *testing.T, command string, readOnly, net bool) {
		_ = sandbox.Check(command, sandbox.Policy{ReadOnly: readOnly, Network: net, AllowedHosts: []string{"a.b"}})
	})
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		_ = sandbox.Check("cd sub && go test ./... 2>&1 | tail -20", sandbox.Policy{})
	}
}

// Arguments that no shell reads are judged as they are: what would be syntax is text.
func TestCheckArgv(t *testing.T) {
	off, readOnly, on := sandbox.Policy{}, sandbox.Policy{ReadOnly: true}, sandbox.Policy{Network: true}
	for _, c := range []struct {
		policy sandbox.Policy
		argv   []string
		want   string
	}{
		{off, []string{"echo", "; curl x", "$(wget y)", "| ssh"}, ""},
		{readOnly, []string{"echo", ">", "f", "&&", "rm", "x"}, ""},
		{off, []string{"/usr/bin/curl", "x"}, network},
		{off, []string{"env", "A=1", "curl", "x"}, network},
		{off, []string{"timeout", "5", "sh", "-c", "cd x; wget y"}, network},
		{off, []string{"git", "push"}, network},
		{off, []string{"go", "get", "https://a.example/x"}, network},
		{off, []string{"x=./curl", "y"}, network},
		{off, []string{"A=1", "curl"}, ""},
		{readOnly, []string{"find", ".", "-exec", "rm", "{}", ";"}, write},
		{readOnly, []string{"sh", "-c", "echo >f"}, write},
		{readOnly, []string{"sh", "-c", "("}, write},
		{on, []string{"x", "http://169.254.169.254/"}, "is link-local"},
		{on, []string{"curl", "127.1"}, "is loopback"},
		{on, []string{"curl", "a.example"}, ""},
	} {
		err := sandbox.CheckArgv(c.argv, c.policy)
		if (err == nil) != (c.want == "") || err != nil && (!strings.HasSuffix(err.Error(), c.want) || !errors.As(err, new(*sandbox.Denied))) {
			t.Errorf("%q %+v: %v, want %q", c.argv, c.policy, err, c.want)
		}
	}
}

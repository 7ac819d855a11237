package escape_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/tooltest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == probe {
		os.Exit(dial(os.Args[1:]))
	}
	process.SuperviseIfAsked()
	os.Exit(testMain(m))
}

// home is the home folder of the server's user, with credentials. All scenes share it, since
// it belongs to the process, and none may change it.
var home string

func testMain(m *testing.M) int {
	base, err := os.MkdirTemp("/var/tmp", "hecate-escape-")
	if err == nil {
		home, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a home folder for the tests:", err)
		return 1
	}
	defer os.RemoveAll(home)
	for name, content := range homeFiles() {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, "make a home folder for the tests:", err)
			return 1
		}
	}
	if err := errors.Join(os.Setenv("HOME", home), os.Setenv("PROVIDER_API_KEY", secret)); err != nil {
		fmt.Fprintln(os.Stderr, "set the environment of the tests:", err)
		return 1
	}
	return m.Run()
}

// homeFiles are what is in the home folder: credentials, and what anybody may see.
func homeFiles() map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml", ".config/gcloud/tokens.db", ".unheard-of/token",
		".bash_history", ".cargo/credentials.toml", ".m2/settings.xml", ".local/share/keyrings/login.keyring", ".gnupg/private-keys-v1.d/key", ".npmrc", ".pypirc", ".mozilla/firefox/x/logins.json",
	} {
		out[name] = secret + "\n"
	}
	for _, name := range []string{".config/git/ignore", ".cargo/bin/tool", ".opencode/bin/tool", "project/main.go"} {
		out[name] = "plain\n"
	}
	out[".gitconfig"] = "# plain\n"
	return out
}

// probe is this program under a name by which it dials: "probe tcp 127.0.0.1:80 …" tells of
// each address whether somebody answers there. No static check knows it.
const probe = "probe"

func dial(args []string) int {
	for i := 0; i+1 < len(args); i += 2 {
		c, err := net.DialTimeout(args[i], args[i+1], time.Second)
		if err != nil {
			fmt.Printf("%s %s: no: %v\n", args[i], args[i+1], err)
			continue
		}
		_, err = c.Write([]byte("hello"))
		fmt.Printf("%s %s: %s %v\n", args[i], args[i+1], secret, err)
		c.Close()
	}
	return 0
}

// secret is what no attack may show. Files that nobody may see hold it, and attacks say it
// when they have got through.
const secret = "SESAME"

type args = map[string]any

// scene is a workspace with what lies around it, none of which is below /tmp.
type scene struct {
	*tooltest.Workspace
	t       *testing.T
	outside string // directories and files that nobody may change; what is there may be read
	data    string // of the server
}

// newScene makes one without a wrapper.
func newScene(t *testing.T) *scene {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "hecate-escape-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &scene{Workspace: tooltest.New(t), t: t, outside: filepath.Join(base, "outside"), data: filepath.Join(base, "data")}
	s.put(filepath.Join(s.outside, "file"), "as it was\n")
	s.put(filepath.Join(s.data, "operator.token"), secret+"\n")
	s.Env.Settings.Hidden = []string{s.data}
	return s
}

// confined makes one whose commands are held by the wrapper of this machine.
func confined(t *testing.T) *scene {
	t.Helper()
	w := sandbox.Detect()
	if w.Kind == sandbox.WrapperNone || w.Online {
		say := t.Fatalf
		if os.Getenv("HECATE_TEST_WITHOUT_SANDBOX") != "" {
			say = t.Skipf
		}
		say("NOT TRIED: commands cannot be confined on this machine: %s. HECATE_TEST_WITHOUT_SANDBOX=1 lets the tests pass without", w.Reason)
	}
	s := newScene(t)
	s.Env.Settings.Wrapper = w
	return s
}

// both runs a test with the commands of a scene held by nothing but their supervisor, and
// by the wrapper.
func both(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Run("supervised", func(t *testing.T) {
		t.Parallel()
		test(t, newScene(t))
	})
	t.Run("confined", func(t *testing.T) {
		t.Parallel()
		test(t, confined(t))
	})
}

// put writes a file for its owner alone, with its parents.
func (s *scene) put(path, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// call calls a tool in a step of its own. Arguments that it does not take are an answer too.
func (s *scene) call(name string, in args) tools.Result {
	s.t.Helper()
	s.Env.StepID += "+"
	for _, x := range append(builtin.All(), builtin.Direct()...) {
		if x.Name != name {
			continue
		}
		raw, err := json.Marshal(in)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := x.Prepare(raw); err != nil {
			return tools.Failure(name, err.Error())
		}
		return s.Call(x, in)
	}
	s.t.Fatalf("no tool %s", name)
	return tools.Result{}
}

// script runs a bash script as a file, whose text no static check sees.
func (s *scene) script(text string) string {
	s.t.Helper()
	s.Write("attack.sh", s.variables()+text+"\necho tried\n")
	return s.call("shell_exec", args{"command": "bash attack.sh 2>&1"}).Text
}

func (s *scene) variables() string {
	return fmt.Sprintf("OUT='%s' HOME='%s' DATA='%s' SERVER=%d\n", s.outside, home, s.data, os.Getpid())
}

// attack runs a script that tries to get out, and checks that it did not.
func (s *scene) attack(text string) {
	s.t.Helper()
	before := tree(s.t, s.outside, home, s.data)
	s.kept(before, s.script(text))
}

// kept checks that nothing outside was changed and nothing secret shown by what was tried.
func (s *scene) kept(before, said string) {
	s.t.Helper()
	if !strings.Contains(said, "tried") {
		s.t.Errorf("it was not tried: %s", said)
	}
	if strings.Contains(said, secret) {
		s.t.Errorf("it got through: %s", said)
	}
	if after := tree(s.t, s.outside, home, s.data); after != before {
		s.t.Errorf("what is outside was changed:\n%s\nwas:\n%s\nit said: %s", after, before, said)
	}
}

// probes puts the program that dials into the workspace.
func (s *scene) probes() {
	s.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	to := filepath.Join(s.Dir, probe)
	if os.Link(exe, to) == nil {
		return
	}
	from, err := os.Open(exe)
	if err != nil {
		s.t.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(f, from)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// tree is everything below some directories as one text: names, modes, contents.
func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %v ", p, info.Mode())
			if d.Type().IsRegular() {
				content, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				b.Write(content)
			}
			b.WriteString("\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// size is how much an event takes in the log.
func size(t *testing.T, p event.Payload) int {
	t.Helper()
	e, err := event.Encode(p, func() [16]byte { return [16]byte{} })
	if err != nil {
		t.Fatal(err)
	}
	n := len(e.Data)
	if o, ok := p.(run.ShellOutput); ok {
		n = max(n, int(o.Data.Len()))
	}
	return n
}

package escape_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// knocks counts who gets through to a listener.
type knocks struct {
	port string
	n    atomic.Int64
}

func listen(t *testing.T, network, address string) *knocks {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	k := &knocks{}
	if _, k.port, err = net.SplitHostPort(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.n.Add(1)
			c.Close()
		}
	}()
	return k
}

// addresses are those of this machine under a port, in all forms, and those of services
// that clouds have for their machines.
func addresses(t *testing.T, port string) []string {
	t.Helper()
	var out []string
	for _, a := range []string{"127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"} {
		out = append(out, "tcp "+a+":"+port)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLinkLocalUnicast() {
			out = append(out, "tcp "+net.JoinHostPort(ip.IP.String(), port))
		}
	}
	return append(out, "tcp 169.254.169.254:80", "tcp [fd00:ec2::254]:80", "tcp 100.100.100.200:80", "tcp 192.0.0.192:80", "udp 127.0.0.1:53", "udp 169.254.169.254:53")
}

// A command without network reaches nobody, by whatever address, and whatever static checks
// say: the loopback API of the server, services of the cloud, other machines.
func TestWithoutNetwork(t *testing.T) {
	k := listen(t, "tcp", "[::]:0") // takes IPv4 as well
	s := confined(t)
	s.probes()
	said := s.script("./probe " + strings.Join(addresses(t, k.port), " ") + "\nexec 3<>/dev/tcp/127.0.0.1/" + k.port + " && echo SES''AME")
	// UDP needs nobody at the other end; without an interface there is no way to it.
	s.kept(tree(t, s.outside, home, s.data), strings.ReplaceAll(said, "udp 127.0.0.1:53: "+secret, ""))
	if n := k.n.Load(); n > 0 || strings.Count(said, ": no: ") < 12 {
		t.Errorf("%d got through: %s", n, said)
	}
	if !strings.Contains(s.script("ls /sys/class/net; cat /proc/net/dev | tail -n +3 | cut -d: -f1"), "lo\n") {
		t.Error("it has more than a loopback of its own")
	}
	id, _ := s.call("terminal_open", args{"command": "./probe", "args": []string{"tcp", "127.0.0.1:" + k.port}}).Output["terminal_id"].(string)
	if r := s.call("terminal_wait", args{"terminal_id": id}); !strings.Contains(r.Text, ": no: ") || k.n.Load() > 0 {
		t.Errorf("a terminal: %s", r.Text)
	}
}

// With network a command has that of the machine: what keeps it from the machine's own
// services is not the wrapper. The API needs an operator's token then.
func TestWithNetwork(t *testing.T) {
	k := listen(t, "tcp", "127.0.0.1:0")
	s := confined(t)
	s.Env.Network = true
	s.probes()
	if said := s.script("./probe tcp 127.0.0.1:" + k.port); !strings.Contains(said, secret) {
		t.Errorf("docs/sandbox.md says that loopback can be reached: %s", said)
	}
}

// What plainly goes where it may not is refused before it starts, in all spellings.
func TestAddressesThatAreRefused(t *testing.T) {
	s := newScene(t)
	s.Env.Network = true
	for _, url := range []string{
		"http://127.0.0.1/", "http://127.1/", "http://0x7f.1/", "http://2130706433/", "http://017700000001/", "http://0/", "http://localhost/", "http://LOCALHOST./", "http://x.localhost/", "http://[::1]/", "http://[::]/",
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1%25eth0]/", "http://[fec0::1]/",
		"http://169.254.169.254/latest/meta-data/", "http://0xA9FEA9FE/", "http://2852039166/", "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[fd00:ec2::254]/",
		"http://metadata.google.internal/computeMetadata/v1/", "http://100.100.100.200/", "http://192.0.0.192/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://example.org@169.254.169.254/",
		`http://example.org\\@169.254.169.254/`, "http://169.254.169.254#@example.org/", "HTTP://169.254.169.254/", "https://127.0.0.1:8765/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://１２７.0.0.1/", "http://127.0.0.1%2f.example.org/",
	} {
		for tool, in := range map[string]args{
			"shell_exec": {"command": "curl -s '" + url + "'"}, "exec": {"program": "curl", "args": []string{"-s", url}}, "git_exec": {"command": "ls-remote '" + url + "x.git'"},
			"terminal_open": {"command": "curl", "args": []string{url}},
		} {
			if r := s.call(tool, in); !r.Error || r.ErrorKind != "sandbox_policy_denied" {
				t.Errorf("%s %s: %s", tool, url, r.Text)
			}
		}
		if r := s.call("http_request", args{"url": url}); !r.Error || strings.Contains(r.Text, "status=") {
			t.Errorf("http_request %s: %s", url, r.Text)
		}
	}
	for _, bare := range []string{"169.254.169.254", "[::1]", "localhost:80", "root@127.1", "0x7f000001"} {
		if r := s.call("shell_exec", args{"command": fmt.Sprintf("ssh -o BatchMode=yes %s true; nc %[1]s 80", bare)}); r.ErrorKind != "sandbox_policy_denied" {
			t.Errorf("%s: %s", bare, r.Text)
		}
	}
}

package escape_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that a command has no business with: ah-secrets-01, and the data directory.
func TestSecretFiles(t *testing.T) {
	const look = `cat "$HOME/.ssh/id_ed25519" "$HOME/.aws/credentials" "$HOME/.netrc" "$DATA/operator.token"; grep -r ` + "SES[A]ME" + ` "$HOME" "$DATA"`
	for name, script := range map[string]string{
		"plainly":         look,
		"by a link":       `ln -s "$HOME" home; ln -s "$DATA" data; cat home/.ssh/* home/.config/gh/* data/*; cat home/.cargo/credentials.toml home/.m2/settings.xml`,
		"by a hard link":  `ln "$HOME/.ssh/id_ed25519" key; ln "$HOME/.netrc" rc; ln "$DATA/operator.token" token; cat key rc token`,
		"of processes":    `cat /proc/[0-9]*/root"$HOME"/.ssh/* /proc/[0-9]*/cwd/../../data/* /proc/[0-9]*/root"$DATA"/*`,
		"of descriptors":  `for f in /proc/[0-9]*/fd/*; do cat "$f/operator.token" "$f/.ssh/id_ed25519" "$f/../data/operator.token"; done </dev/null`,
		"uncovered":       `for m in "$HOME/.ssh" "$DATA" "$HOME/.config" "$HOME/.netrc"; do umount "$m"; umount -l "$m"; done; ` + look,
		"in a namespace":  `unshare -Urm sh -c 'for m in "$0/.ssh" "$1" "$0/.config"; do umount "$m"; umount -l "$m"; done; cat "$0"/.ssh/* "$1"/*; mount --bind / /mnt; cat "/mnt$0"/.ssh/*; mount -t tmpfs x /mnt' "$HOME" "$DATA"`,
		"moved":           `mv "$HOME/.ssh" "$HOME/ssh"; cat "$HOME"/ssh/*; mkdir u w m; mount -t overlay o -o lowerdir="$HOME",upperdir=u,workdir=w m; cat m/.ssh/*`,
		"of the system":   `cat /etc/shadow /etc/gshadow | grep -q : && echo ` + "SES''AME" + `; cat /etc/ssh/ssh_host_*_key | grep -q PRIVATE && echo ` + "SES''AME",
		"its environment": `grep -l ` + "PROVIDER_API_K[E]Y" + ` /proc/[0-9]*/environ && echo ` + "SES''AME" + `; env | grep API && echo ` + "SES''AME",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			confined(t).attack(script)
		})
	}
	t.Run("what is shown", func(t *testing.T) {
		s := confined(t)
		t.Setenv("PATH", home+"/.opencode/bin:"+os.Getenv("PATH"))
		if said := s.script(`cat "$HOME"/{.gitconfig,.config/git/ignore,.cargo/bin/tool,project/main.go,.opencode/bin/tool}`); strings.Count(said, "plain\n") != 5 {
			t.Errorf("got %s", said)
		}
	})
	t.Run("read only", func(t *testing.T) {
		s := confined(t)
		s.Env.ReadOnly = true
		s.Write("attack.sh", s.variables()+look+"; echo x >made; echo tried\n")
		before := tree(t, s.outside, home, s.data)
		s.kept(before, s.call("shell", args{"command": "bash attack.sh"}).Text)
		if s.Read("made") != "<absent>" {
			t.Error("the read-only workspace was changed")
		}
	})
	t.Run("data in the workspace", func(t *testing.T) {
		s := confined(t)
		s.data = filepath.Join(s.Dir, ".data")
		s.put(filepath.Join(s.data, "operator.token"), secret+"\n")
		s.Env.Settings.Hidden = []string{s.data}
		s.attack(look + `; mv .data d; cat d/*; rm -rf .data; ln -s . .data; umount .data; cat .data/*; echo planted >.data/operator.token`)
	})
}

// What is outside of the workspace stays as it is.
func TestWritesOutside(t *testing.T) {
	for name, script := range map[string]string{
		"plainly":        `echo x >"$OUT/new"; echo x >>"$OUT/file"; rm -f "$OUT/file"; mv "$OUT" "$OUT.gone"; chmod 777 "$OUT/file"; touch "$OUT/file"; mkdir "$HOME/new"; echo x >>"$HOME/.gitconfig"`,
		"by a link":      `ln -s "$OUT" out; echo x >out/new; ln -s "$OUT/file" f; echo x >f; ln "$OUT/file" h; echo x >h`,
		"remounted":      `mount -o remount,rw /; mount -o remount,bind,rw /; mount -o remount,rw "$OUT"; echo x >"$OUT/new"`,
		"in a namespace": `unshare -Urm sh -c 'mount -o remount,bind,rw /; mount -o remount,bind,rw "$0"; echo x >"$0/new"; umount -l /; echo x >"$0/new"' "$OUT"`,
		"of processes":   `for p in /proc/[0-9]*; do echo x >"$p/root$OUT/new"; done; chroot /proc/1/root sh -c 'echo x >"$0/new"' "$OUT"; nsenter -t 1 -a sh -c 'echo x >"$0/new"' "$OUT"`,
		"devices":        `mknod disk b 8 0 && echo ` + "SES''AME" + `; cat /dev/mem /dev/sda /dev/vda /dev/kmsg 2>/dev/null | head -c1 | grep -q . && echo ` + "SES''AME",
		"the kernel":     `v=$(cat /proc/sys/vm/swappiness); echo $v >/proc/sys/vm/swappiness && echo ` + "SES''AME" + `; mkdir /sys/fs/cgroup/hecate-escape && echo ` + "SES''AME" + `; echo h >/proc/sysrq-trigger && echo ` + "SES''AME",
		"other users":    `su -c 'echo x >'"$OUT/new" </dev/null; sudo -n sh -c 'echo x >'"$OUT/new"; cp /bin/sh s; chmod 4755 s; ./s -p -c 'echo x >'"$OUT/new"`,
		"capabilities":   `grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo ` + "SES''AME" + `; grep -q 'NoNewPrivs:.*1' /proc/self/status || echo ` + "SES''AME",
		"the server":     `kill -0 $SERVER && echo ` + "SES''AME" + `; kill -9 -1; ls /proc/$SERVER/cwd && echo ` + "SES''AME",
	} {
		t.Run(name, func(t *testing.T) {
			s := confined(t)
			if name == "the server" { // the script ends itself as well
				s.Write("attack.sh", s.variables()+strings.Replace(script, "kill -9 -1;", "", 1)+"; echo tried; kill -9 -1\n")
				s.kept(tree(t, s.outside, home, s.data), s.call("shell_exec", args{"command": "bash attack.sh"}).Text)
				return
			}
			s.attack(script)
		})
	}
}

// Sockets of programs outside, which would do what a command may not.
func TestSocketsOfOthers(t *testing.T) {
	listeners := map[string]string{"abstract": "@hecate-escape"}
	if dir, err := os.MkdirTemp("/run", "hecate-escape-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		listeners["in /run"] = filepath.Join(dir, "bus")
	} else {
		t.Logf("NOT TRIED: nothing can be made in /run: %v", err)
	}
	if dir, err := os.MkdirTemp("/tmp", "hecate-escape-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		listeners["in /tmp"] = filepath.Join(dir, "agent")
	}
	for name, path := range listeners {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, network := range []bool{false, true} {
				if network && name == "abstract" {
					continue // they are part of the network, see docs/sandbox.md
				}
				s := confined(t)
				s.Env.Network = network
				s.probes()
				s.attack("./probe unix " + path)
			}
		})
	}
}

// What a command leaves in the workspace is no way out for the tools of the server.
func TestWhatCommandsLeaveBehind(t *testing.T) {
	s := confined(t)
	said := s.script(`ln -s "$OUT/file" notes.md; ln -s "$OUT" out; ln -s "$HOME/.ssh" keys; ln -s /proc/self/root r; mkfifo pipe; ln -s "$DATA" data`)
	before := tree(t, s.outside, home, s.data)
	for _, path := range []string{"notes.md", "out/file", "out/new", "keys/id_ed25519", "r" + s.outside + "/file", "data/operator.token", "pipe"} {
		for _, c := range []struct {
			tool string
			in   args
		}{
			{"read_file", args{"path": path}},
			{"file_write", args{"path": path, "content": "x"}},
			{"file_edit", args{"path": path, "old_text": "as it was", "new_text": "x"}},
			{"list_dir", args{"path": path}},
			{"grep", args{"pattern": "SESAM", "path": path}},
			{"apply_patch", args{"patch_text": "*** Begin Patch\n*** Update File: " + path + "\n@@\n-as it was\n+x\n*** End Patch\n"}},
		} {
			if path == "pipe" && c.tool == "file_write" {
				continue // it takes the place of the pipe
			}
			r := s.call(c.tool, c.in)
			if !r.Error && c.tool != "grep" {
				t.Errorf("%s %s: %s", c.tool, path, r.Text)
			}
			said += r.Text
		}
	}
	said += s.call("grep", args{"pattern": "SESAM"}).Text
	s.kept(before, said)
}

package permissions

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hecate/domain/fault"
)

func openTest(t *testing.T, text string) (*target, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.toml")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x, err := openTarget(path, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.close)
	return x, path
}

// What somebody else writes between the look and the change is not lost.
func TestRewriteSeesOthers(t *testing.T) {
	for name, first := range map[string]string{"a file": "one\n", "no file": ""} {
		t.Run(name, func(t *testing.T) {
			x, path := openTest(t, first)
			tries := 0
			err := x.rewrite(func(was []byte, _ bool) ([]byte, error) {
				if tries++; tries == 1 {
					if err := os.WriteFile(path, []byte("theirs\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return append(was, "mine\n"...), nil
			})
			if text, _ := os.ReadFile(path); err != nil || tries != 2 || string(text) != "theirs\nmine\n" {
				t.Errorf("after %d tries: %q, %v", tries, text, err)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestRewriteGivesUp(t *testing.T) {
	x, path := openTest(t, "a")
	err := x.rewrite(func(was []byte, _ bool) ([]byte, error) {
		if err := os.WriteFile(path, append(was, 'b'), 0o600); err != nil {
			t.Fatal(err)
		}
		return []byte("mine"), nil
	})
	if f, ok := fault.Of(err); !ok || f.Code != "permission_file_busy" {
		t.Errorf("the error is %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "abbbbb" {
		t.Errorf("the file is %q", text)
	}
}

func TestRewriteLeavesTheFileOnError(t *testing.T) {
	x, path := openTest(t, "a")
	cause := errors.New("no")
	if err := x.rewrite(func([]byte, bool) ([]byte, error) { return []byte("b"), cause }); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "a" {
		t.Errorf("the file is %q", text)
	}
	// A name that is taken, by a change that was cut off, is not in the way.
	stale, err := x.temporary()
	if err != nil {
		t.Fatal(err)
	}
	stale.Close()
	if err := x.rewrite(func([]byte, bool) ([]byte, error) { return []byte("b"), nil }); err != nil {
		t.Error(err)
	}
}

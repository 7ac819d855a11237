package operators_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/api/auth"
	"hecate/cmd/hecate/internal/operators"
)

var (
	_  auth.Operators = (*operators.List)(nil)
	t0                = time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC)
)

// A server knows whose token one is as soon as it is made, and no longer once it is revoked.
func TestTokensComeAndGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), operators.ListFile)
	var log bytes.Buffer
	server := operators.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if who := server.Operator("x"); who != "" {
		t.Errorf("without a list %q", who)
	}
	jane, err := operators.Add(path, "jane@example.com", t0)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := operators.Add(path, "ci-bot_1.x", t0)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(jane); err != nil || len(raw) != 32 || jane == bot {
		t.Errorf("token of %d bytes, %v", len(raw), err)
	}
	for token, want := range map[string]string{
		jane: "jane@example.com", bot: "ci-bot_1.x", "": "", jane[1:]: "", jane + "x": "", strings.ToUpper(jane): "", strings.Repeat("x", 1<<16): "",
	} {
		if who := server.Operator(token); who != want {
			t.Errorf("%q, want %q", who, want)
		}
	}
	if _, err := operators.Add(path, "jane@example.com", t0); !errors.Is(err, operators.ErrTaken) {
		t.Errorf("a second one of the name: %v", err)
	}
	gone, err := operators.Revoke(path, "jane@example.com", t0.Add(time.Hour))
	if err != nil || !gone.Owns(jane) || gone.Owns(bot) || gone.Active() {
		t.Errorf("%+v, %v", gone, err)
	}
	if server.Operator(jane) != "" || server.Operator(bot) != "ci-bot_1.x" {
		t.Error("the wrong one was revoked")
	}
	if _, err := operators.Revoke(path, "jane@example.com", t0); !errors.Is(err, operators.ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}
	again, err := operators.Add(path, "jane@example.com", t0.Add(2*time.Hour))
	if err != nil || server.Operator(again) != "jane@example.com" || server.Operator(jane) != "" {
		t.Errorf("the name again: %v", err)
	}
	list, err := operators.Read(path)
	if err != nil || len(list) != 3 || !list[0].Revoked.Equal(t0.Add(time.Hour)) || !list[1].Created.Equal(t0) {
		t.Errorf("%+v, %v", list, err)
	}
	raw, _ := os.ReadFile(path)
	for _, token := range []string{jane, bot, again} {
		if bytes.Contains(raw, []byte(token)) || strings.Contains(log.String(), token) {
			t.Error("a token stands where it can be read")
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), operators.ListFile)
	for name, sane := range map[string]bool{
		"a": true, "A.b_c@d-9": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "a/b": false, "a\n": false, "j\u00e4ne": false, "runtime-token": false, `DOM\user`: false,
	} {
		if _, err := operators.Add(path, name, t0); (err == nil) != sane {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A list that cannot be read lets nobody in, says so once, and is left as it is.
func TestBrokenListKnowsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), operators.ListFile)
	jane, err := operators.Add(path, "jane", t0)
	if err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(path)
	sum := strings.Repeat("ab", 32)
	var log bytes.Buffer
	server := operators.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	for what, text := range map[string]string{
		"empty": "", "no JSON": "operators:", "half": string(good[:len(good)/2]), "two": string(good) + "{}", "another member": `{"operators":[],"admins":[]}`,
		"a bad name":       `{"operators":[{"name":"a b","token_sha256":"` + sum + `","created":"2026-02-03T09:30:00Z"}]}`,
		"no digest":        `{"operators":[{"name":"a","token_sha256":"","created":"2026-02-03T09:30:00Z"}]}`,
		"a short digest":   `{"operators":[{"name":"a","token_sha256":"abcd","created":"2026-02-03T09:30:00Z"}]}`,
		"capital letters":  `{"operators":[{"name":"a","token_sha256":"` + strings.ToUpper(sum) + `","created":"2026-02-03T09:30:00Z"}]}`,
		"a name twice":     fmt.Sprintf(`{"operators":[{"name":"a","token_sha256":%q,"created":"2026-02-03T09:30:00Z"},{"name":"a","token_sha256":%q,"created":"2026-02-03T09:30:00Z"}]}`, sum, sum),
		"larger than that": string(good) + strings.Repeat(" ", 2<<20),
	} {
		if server.Operator(jane) != "jane" {
			t.Fatal("the good list is not taken")
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		for range 3 {
			if who := server.Operator(jane); who != "" {
				t.Errorf("%s: %q", what, who)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: said %d times: %s", what, n, log.String())
		}
		if _, err := operators.Add(path, "joe", t0); err == nil {
			t.Errorf("%s: was added to", what)
		}
		if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("%s: was changed", what)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Of servers that start on one list at the same time, one makes the first operator.
func TestFirst(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shared.json")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var tokens []string
	for i := range 8 {
		wg.Go(func() {
			token := filepath.Join(dir, fmt.Sprint(i))
			made, err := operators.First(path, token, "root", t0)
			if err != nil {
				t.Error(err)
			}
			if made {
				mu.Lock()
				defer mu.Unlock()
				tokens = append(tokens, token)
			}
		})
	}
	wg.Wait()
	if len(tokens) != 1 {
		t.Fatalf("%d made one", len(tokens))
	}
	if info, err := os.Stat(tokens[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	token, err := operators.ReadToken(tokens[0])
	if err != nil || operators.Open(path, slog.New(slog.DiscardHandler)).Operator(token) != "root" {
		t.Errorf("the token in the file is not the operator's: %v", err)
	}
	if _, err := operators.Revoke(path, "root", t0); err != nil {
		t.Fatal(err)
	}
	if made, err := operators.First(path, tokens[0], "root", t0); made || err != nil {
		t.Errorf("a list without anybody was filled: %v", err)
	}
}

// Edits at the same time all count.
func TestEditsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), operators.ListFile)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name := fmt.Sprintf("op%d", i)
			if _, err := operators.Add(path, name, t0); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if _, err := operators.Revoke(path, name, t0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := operators.Read(path)
	active := 0
	for _, o := range list {
		if o.Active() {
			active++
		}
	}
	if err != nil || len(list) != 16 || active != 8 {
		t.Errorf("%d operators, %d active, %v", len(list), active, err)
	}
}

// Whatever the file says, it is refused or knows only sane names with whole digests.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"operators":[{"name":"a","token_sha256":"` + strings.Repeat("ab", 32) + `","created":"2026-02-03T09:30:00Z"}]}`))
	f.Add([]byte(`{"operators":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), operators.ListFile)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := operators.Read(path)
		if err != nil {
			return
		}
		for _, o := range list {
			if !operators.Sane(o.Name) || len(o.Token) != 64 {
				t.Errorf("%+v", o)
			}
		}
		if _, err := json.Marshal(list); err != nil {
			t.Error(err)
		}
	})
}

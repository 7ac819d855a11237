package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hecate/domain/secret"
)

const (
	key      = "sk-planted-7Qw9zXc4Vb2Nm8"
	password = `p"ss\wörd/9+&=?`
)

func holding(t testing.TB) *secret.Set {
	t.Helper()
	var s secret.Set
	if !s.Add("OPENAI_API_KEY", key) || !s.Add("DATABASE_URL", password) {
		t.Fatal("not held")
	}
	return &s
}

func TestValuesAreWithheldInTheirUsualSpellings(t *testing.T) {
	s := holding(t)
	quoted := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, value := range []string{key, password} {
		name := map[string]string{key: "OPENAI_API_KEY", password: "DATABASE_URL"}[value]
		for _, text := range []string{
			value, "a " + value + " b", "\n" + value + value, quoted(value), quoted(quoted(value)), url.QueryEscape(value), url.PathEscape(value),
			strings.ToLower(url.QueryEscape("=")) + url.QueryEscape(value),
			base64.StdEncoding.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte("user:" + value)), base64.URLEncoding.EncodeToString([]byte("me:" + value + "\n")),
			base64.StdEncoding.EncodeToString([]byte("OPENAI_API_KEY=" + value + "\nOTHER=1\n")),
			value[:len(value)*2/3], "--- cut: " + value[:len(value)/2+1] + "…",
		} {
			got, names := s.Withhold(text)
			if !strings.Contains(got, secret.Marker(name)) || strings.Contains(got, value) || !slices.Equal(names, []string{name}) {
				t.Errorf("%q became %q, %q", text, got, names)
			}
			if again, names := s.Withhold(got); again != got || names != nil {
				t.Errorf("%q became %q", got, again)
			}
		}
	}
}

func TestOtherTextsStayAsTheyAre(t *testing.T) {
	s := holding(t)
	for _, text := range []string{"", "x", "sk-plan", strings.Repeat("sk-planted", 1000), "[secret OPENAI_API_KEY]", "OPENAI_API_KEY=", strings.Repeat("\x00\xff", 99)} {
		if got, names := s.Withhold(text); got != text || names != nil {
			t.Errorf("%.40q became %.40q, %q", text, got, names)
		}
	}
}

func TestWhatCanBeHeld(t *testing.T) {
	var s secret.Set
	for value, want := range map[string]bool{
		"": false, "a1b2c3d": false, "a1b2c3d4": true, "postgres": false, "lm-studio": false, "changeme": false, "Changeme": true,
		"correct-horse-battery": true, "  padded-1  ": true, strings.Repeat("x1", 3000): false,
	} {
		if got := s.Add("X", value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if _, names := s.Withhold("padded-1"); len(names) != 1 {
		t.Error("blanks are part of a value")
	}
}

func TestNames(t *testing.T) {
	s := holding(t)
	s.Add("MY KEY]", key)
	s.Add("OPENAI_API_KEY", key)
	if got := s.Names(); !slices.Equal(got, []string{"DATABASE_URL", "MY_KEY_", "OPENAI_API_KEY"}) {
		t.Errorf("%q", got)
	}
	if got, names := s.Withhold(key); got != "[secret OPENAI_API_KEY]" || len(names) != 2 {
		t.Errorf("%q, %q", got, names)
	}
	for text, want := range map[string]string{
		`curl -H "x: $OPENAI_API_KEY"`: "OPENAI_API_KEY", "DATABASE_URL=x ./run": "DATABASE_URL", "echo ${DATABASE_URL}$OPENAI_API_KEY": "DATABASE_URL OPENAI_API_KEY",
		"MY_OPENAI_API_KEY OPENAI_API_KEYS": "", "OPENAI_API_KEYS OPENAI_API_KEY": "OPENAI_API_KEY", "": "",
	} {
		if got := strings.Join(s.Named(text), " "); got != want {
			t.Errorf("%q names %q", text, got)
		}
	}
}

// Two values that share text are both gone, with all that belongs to them.
func TestValuesThatOverlap(t *testing.T) {
	var s secret.Set
	s.Add("A", "abcdefgh12345678")
	s.Add("B", "12345678ijklmnop")
	s.Add("C", "cdefgh1234")
	if got, names := s.Withhold("<abcdefgh12345678ijklmnop>"); got != "<[secret A][secret B]>" || !slices.Equal(names, []string{"A", "B"}) {
		t.Errorf("%q, %q", got, names)
	}
}

func TestASetIsNeverPrinted(t *testing.T) {
	s := holding(t)
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x", s, s, s, s, s, s)} {
		if strings.Contains(text, "planted") || strings.Contains(text, fmt.Sprintf("%x", "planted")) {
			t.Errorf("%s", text)
		}
	}
	var none *secret.Set
	if got, names := none.Withhold(key); got != key || names != nil || none.Names() != nil || none.Stream().Write(key) != key {
		t.Errorf("%q, %q", got, names)
	}
}

// However a text is cut into pieces, what comes out is what would come out of all of it.
func FuzzPieces(f *testing.F) {
	f.Add("a "+key+" b "+password+password[:9]+" sk-planted", int64(1))
	f.Add(key+key[:15]+key, int64(2))
	f.Add(password[:5]+key[:3]+password, int64(3))
	s := holding(f)
	longest := 3 * len(password) // as in a URL
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		text = strings.NewReplacer("K", key, "P", password, "k", key[:16], "p", password[:9]).Replace(text)
		want, _ := s.Withhold(text)
		var got strings.Builder
		stream, rng, in := s.Stream(), rand.New(rand.NewSource(seed)), 0
		for rest := text; rest != ""; {
			n := 1 + rng.Intn(min(len(rest), 1+rng.Intn(40)))
			got.WriteString(stream.Write(rest[:n]))
			rest, in = rest[n:], in+n
			if held := len(stream.Rest()); held > 2*longest {
				t.Fatalf("%d bytes are kept back", held)
			}
		}
		got.WriteString(stream.End())
		if got.String() != want {
			t.Fatalf("%q came out as %q, not %q", text, got.String(), want)
		}
		if strings.Contains(want, key) || strings.Contains(want, password) {
			t.Fatalf("%q holds a secret", want)
		}
	})
}

func TestAStreamKeepsBackOnlyWhatMayBeASecret(t *testing.T) {
	stream := holding(t).Stream()
	for _, piece := range [][2]string{{"password: ", "password: "}, {"s", ""}, {"ure\n", "sure\n"}, {key[:20], ""}, {key[20:], "[secret OPENAI_API_KEY]"}, {key[:10], ""}} {
		if got := stream.Write(piece[0]); got != piece[1] {
			t.Errorf("%q came out as %q", piece[0], got)
		}
	}
	if got := stream.End(); got != key[:10] {
		t.Errorf("the end is %q", got)
	}
	s := holding(t)
	s.Add("ALIAS", key)
	names := stream.Withheld()
	if got := s.Marked("a [secret OPENAI_API_KEY] [secret DATABASE_URL]", names); !slices.Equal(got, []string{"OPENAI_API_KEY", "ALIAS"}) || s.Marked("nothing", names) != nil {
		t.Errorf("%q, of %q", got, names)
	}
}

// BenchmarkWithhold is the search among 20 keys and, as "short", a short password as well:
// the shortest secret decides by how much the search can leap.
func BenchmarkWithhold(b *testing.B) {
	var keys, short secret.Set
	rng := rand.New(rand.NewSource(1))
	for i := range 20 {
		raw := make([]byte, 30)
		rng.Read(raw)
		for _, s := range []*secret.Set{&keys, &short} {
			s.Add(fmt.Sprintf("KEY_%d", i), "sk-"+base64.RawURLEncoding.EncodeToString(raw))
		}
	}
	short.Add("SHORT", "hunter2-hunter2")
	source := strings.Repeat("func (x *Executor) read(ctx context.Context, stream string, after int64) error {\n\tfor i := range pages { // every page\n", 600)
	noise := make([]byte, 48<<10)
	rng.Read(noise)
	for set, s := range map[string]*secret.Set{"keys": &keys, "short": &short} {
		for name, text := range map[string]string{
			"source-64KiB": source[:64<<10], "base64-64KiB": base64.StdEncoding.EncodeToString(noise), "event-400B": source[:400], "name-20B": source[:20],
			"hostile-64KiB": strings.Repeat("sk-", 22000)[:64<<10],
		} {
			b.Run(set+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, names := s.Withhold(text); names != nil {
						b.Fatal(names)
					}
				}
			})
		}
	}
}

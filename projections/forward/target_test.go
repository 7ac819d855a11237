package forward_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hecate/projections/forward"
)

func TestParseTargets(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"nats://localhost":        "nats://localhost:4222/hecate.events",
		"nats://h:1/a.b?from=now": "nats://h:1/a.b",
		"nats+tls://u:p%40@h/x, kafka://a,b:1/y?sasl=scram-sha-512": "nats+tls://h:4222/x kafka://a:9092,b:1/y",
		"nats://[::1]/x":    "nats://[::1]:4222/x",
		"kafka://[::1]:7/x": "kafka://[::1]:7/x",
	} {
		got, err := forward.ParseTargets(text)
		var names []string
		for _, x := range got {
			names = append(names, x.Name())
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q: %v, %v", text, names, err)
		}
	}
	got, err := forward.ParseTargets("nats://u:p%40%2C@h/x?from=now,kafka://me:key@k/y")
	if err != nil || got[0].Password != "p@," || !got[0].FromNow || got[1].SASL != "plain" || got[1].User != "me" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTargetsThatMakeNoSense(t *testing.T) {
	for text, say := range map[string]string{
		"localhost:4222":             "does not begin",
		"amqp://hush@h/x":            "use nats://",
		"nats:///x":                  "host",
		"nats://hush:hu/sh@h/x":      "",
		"nats://h:port/x":            "host",
		"nats://h/a b":               "topic",
		"nats://h/a.*":               "topic",
		"nats://h/x?from=hush":       "from is",
		"nats://h/x?hash=hush":       "no option",
		"kafka://h/x?creds=hush":     "no option",
		"kafka://h/x?sasl=hush":      "sasl is",
		"nats://%zhush@h/x":          "password",
		"nats://h/x,nats://h:4222/x": "twice",
	} {
		_, err := forward.ParseTargets(text)
		if err == nil || !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What clients report never has the password in it.
func TestClean(t *testing.T) {
	for _, text := range []string{"nats://me:hush%2Fhush@h/x", "nats://hush%2Fhush@h/x"} {
		targets, err := forward.ParseTargets(text)
		if err != nil {
			t.Fatal(err)
		}
		err = targets[0].Clean(errors.New("dial nats://me:hush%2Fhush@h as hush/hush: refused"))
		if strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "refused") {
			t.Error(err)
		}
		if shown := fmt.Sprintf("%v %+v %#v %s", targets[0], targets, targets[0], targets[0].Name()); strings.Contains(shown, "hush") {
			t.Error(shown)
		}
	}
}

func TestToken(t *testing.T) {
	for text, want := range map[string]string{"run.started": "run.started", "": "_", "..": "_", "a b.*.>": "a_b._._", "x\r\nEvil: y": "x__Evil__y", ".a..b.": "a.b"} {
		if got := forward.Token(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParseTargets(f *testing.F) {
	f.Add("nats://me:planted@h:1/x?from=now,kafka+tls://planted@a,b/y")
	f.Fuzz(func(t *testing.T, text string) {
		targets, err := forward.ParseTargets(text)
		if err != nil {
			return
		}
		for _, x := range targets {
			again, err := forward.ParseTargets(x.Name())
			if err != nil || len(again) != 1 || again[0].Name() != x.Name() || again[0].User+again[0].Password != "" {
				t.Errorf("%q is named %q, which is read as %v, %v", text, x.Name(), again, err)
			}
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add("run.started")
	f.Add("é\x00 *.>")
	f.Fuzz(func(t *testing.T, text string) {
		got := forward.Token(text)
		if got == "" || len(got) > 128 || strings.ContainsAny(got, " *>\r\n\x00") || strings.Contains(got, "..") || got[0] == '.' || got[len(got)-1] == '.' {
			t.Errorf("%q: %q", text, got)
		}
	})
}

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/domain/secret"
)

func TestWhatTheServerHolds(t *testing.T) {
	dir := t.TempDir()
	creds := filepath.Join(dir, "nats.creds")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(creds, "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJ4\n------END\n\nthis is what it says\n-----BEGIN USER NKEY SEED-----\nSUACSEEDSEEDSEED4\n")
	hook, key := filepath.Join(dir, "hook"), filepath.Join(dir, "audit.key")
	write(hook, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	write(key, "PRIVATE+KEY+hecate/log_1+1a2b3c4d+AXl/Y29uZmlk+ZW50aWFs\n")
	c, err := readConfig([]string{
		"HECATE_DATA_DIR=" + dir, "HECATE_AUDIT_KEY_FILE=" + key,
		"OPENAI_API_KEY=sk-provider-1", "PROVIDER_GROQ_API_KEY=gsk-provider-2", "HECATE_RUNTIME_TOKEN=runtime-token-0123456789abcdef", "BRAVE_SEARCH_API_KEY=BSA-search-3",
		"HECATE_WEBHOOK_URL=https://hook.example/x", "HECATE_WEBHOOK_SECRET_FILE=" + hook,
		"HECATE_POSTGRES_URL=postgres://hecate:p%40ss-word-4@db/hecate?sslmode=require&sslpassword=keypass-5", "DATABASE_URL=host=db user=me password='quoted pass-6'",
		"HECATE_FORWARD_URL=nats://natstoken7@one:4222/x?creds=" + creds + ",kafka://user:kafkapass8@two:9092,three:9092/t", "HTTPS_PROXY=http://me:proxypass9@proxy:3128",
		"HECATE_OTEL_HEADERS=x-team=agents,authorization=Bearer otlp-token-10", "HECATE_OTEL_LOGS_HEADERS=authorization=Basic " + base64.StdEncoding.EncodeToString([]byte("u:basicpass11")),
		"HECATE_CONTROL_PLANE_SECRET_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32)), "MY_CREDENTIALS=custom-creds-12", "PGPASSWORD=pgpassword-13",
		"GOOGLE_APPLICATION_CREDENTIALS=" + creds, "PATH=/usr/bin", "HOME=" + dir, "HECATE_AUDIT_WITNESS=https://w:witness-14@elsewhere/x", "EMPTY_TOKEN=", "PROVIDER_OLLAMA_API_KEY=ollama",
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	set := holdSecrets(c, slog.New(slog.NewTextHandler(&log, nil)))
	known, err := openOperators(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	holdOwn(set, c, known)
	token, err := os.ReadFile(filepath.Join(dir, "operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	for value, name := range map[string]string{
		"sk-provider-1": "OPENAI_API_KEY", "gsk-provider-2": "PROVIDER_GROQ_API_KEY", "runtime-token-0123456789abcdef": "HECATE_RUNTIME_TOKEN", "BSA-search-3": "BRAVE_SEARCH_API_KEY",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "HECATE_WEBHOOK_SECRET_FILE", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "HECATE_WEBHOOK_SECRET_FILE", "p@ss-word-4": "HECATE_POSTGRES_URL", "p%40ss-word-4": "HECATE_POSTGRES_URL", "keypass-5": "HECATE_POSTGRES_URL",
		"quoted pass-6": "DATABASE_URL", "natstoken7": "HECATE_FORWARD_URL", "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJ4": "HECATE_FORWARD_URL", "SUACSEEDSEEDSEED4": "HECATE_FORWARD_URL",
		"kafkapass8": "HECATE_FORWARD_URL", "proxypass9": "HTTPS_PROXY", "otlp-token-10": "HECATE_OTEL_HEADERS", "basicpass11": "HECATE_OTEL_LOGS_HEADERS",
		"custom-creds-12": "MY_CREDENTIALS", "pgpassword-13": "PGPASSWORD", "AXl/Y29uZmlk+ZW50aWFs": "HECATE_AUDIT_KEY_FILE", "witness-14": "HECATE_AUDIT_WITNESS",
		strings.TrimSpace(string(token)): "operator:" + firstOperator(),
	} {
		if got, names := set.Withhold("<" + value + ">"); !strings.Contains(got, "[secret "+name+"]") || !slices.Equal(names, []string{name}) {
			t.Errorf("%s: %q, %q", name, got, names)
		}
	}
	for _, text := range []string{"/usr/bin", dir, creds, "https://hook.example/x", "postgres://", "agents", "this is what it says", "hecate/log_1", "ollama"} {
		if got, _ := set.Withhold(text); got != text {
			t.Errorf("%s is withheld", text)
		}
	}
	if !strings.Contains(log.String(), "PROVIDER_OLLAMA_API_KEY") || strings.Contains(log.String(), "=ollama") {
		t.Errorf("%s", log.String())
	}
}

func TestTheLogOfTheServerHoldsNoSecret(t *testing.T) {
	const key = "sk-planted-2mN8bV4cX6zL0q"
	set := &secret.Set{}
	set.Add("OPENAI_API_KEY", key)
	var out bytes.Buffer
	log := slog.New(withholding{slog.NewJSONHandler(&out, nil), set}).With("from", key).WithGroup("g")
	log.Info("message "+key, "text", key, "n", 1, slog.Group("in", "deep", "x"+key))
	log.Warn("plain", "error", errors.Join(context.Canceled, errors.New("refused: "+key)), "any", struct{ Key string }{key}, "list", []string{key})
	if got := out.String(); strings.Contains(got, key) || strings.Count(got, "[secret OPENAI_API_KEY]") != 8 || !strings.Contains(got, `"n":1`) {
		t.Errorf("%s", got)
	}
}

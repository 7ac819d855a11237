package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// Limits of what is fetched from elsewhere.
const (
	fetchMax       = 30 * time.Second
	checkpointsMax = 64 << 20 // bytes of a file of checkpoints
	keysMax        = 1 << 20  // bytes of a file of keys
)

// checkpointPath is where a server of ours answers its newest checkpoint. No other path is sent a token.
const checkpointPath = "/hecate/v1/audit/checkpoint"

// keyArguments reads public keys: as they are written, or from files that hold them, one a
// line, or the secret key that belongs to one.
func keyArguments(list []string) (keys []string, err error) {
	for _, text := range list {
		if strings.Count(text, "+") < 2 || !strings.Contains(text, "\n") && exists(text) {
			raw, err := readFileAtMost(text, keysMax)
			if err != nil {
				return nil, fmt.Errorf("read the key: %w", err)
			}
			if text, err = publicKeys(text, string(raw)); err != nil {
				return nil, err
			}
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				if _, err := proof.OriginOf(line); err != nil {
					return nil, noKey(text, err)
				}
				keys = append(keys, line)
			}
		}
	}
	if len(list) > 0 && len(keys) == 0 {
		return nil, advise(errors.New("read the key: there is none in "+strings.Join(list, ", ")), "hecate audit key prints the keys of a log")
	}
	return keys, nil
}

// noKey says what is there in place of a key.
func noKey(text string, err error) error {
	if slices.ContainsFunc(proof.Split([]byte(text)), isCheckpoint) {
		return usage(errors.New("read the key: this is a checkpoint; give it with --checkpoint"))
	}
	return usage(fmt.Errorf("read the key: %w; hecate audit key prints what is expected", err))
}

func isCheckpoint(raw []byte) bool {
	_, err := proof.Read(raw)
	return err == nil
}

// publicKeys is what a file holds, with the public key in place of a secret one.
func publicKeys(path, held string) (string, error) {
	secret, ok := strings.CutPrefix(strings.TrimSpace(held), "PRIVATE+KEY+")
	if !ok {
		return held, nil
	}
	origin, _, _ := strings.Cut(secret, "+")
	key, err := proof.ReadKey(path, origin)
	return key.Public, err
}

// checkpointArguments reads checkpoints that were kept elsewhere, from files and addresses.
func (a *app) checkpointArguments(ctx context.Context, names []string) (list [][]byte, err error) {
	for _, name := range names {
		raw, err := a.readOrFetch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read the checkpoint %s: %w", name, err)
		}
		found := proof.Split(raw)
		if len(found) == 0 {
			return nil, fmt.Errorf("read the checkpoint %s: it is empty", name)
		}
		for _, checkpoint := range found {
			if _, err := proof.Read(checkpoint); err != nil {
				return nil, noCheckpoint(name, raw, err)
			}
		}
		list = append(list, found...)
	}
	return list, nil
}

// noCheckpoint says what is there in place of a checkpoint.
func noCheckpoint(name string, raw []byte, err error) error {
	if keys, _ := publicKeys(name, string(raw)); keys != "" {
		for line := range strings.Lines(keys) {
			if _, failed := proof.OriginOf(strings.TrimSpace(line)); failed == nil {
				return usage(fmt.Errorf("read the checkpoint %s: this is a key; give it with --key", name))
			}
		}
	}
	return advise(fmt.Errorf("read the checkpoint %s: %w", name, err), "hecate audit checkpoint prints one")
}

// aboutThis refuses keys and checkpoints of another log than the one that goes by these names.
func aboutThis(names, keys []string, kept [][]byte) error {
	for _, public := range keys {
		if origin, err := proof.OriginOf(public); err == nil && !slices.Contains(names, origin) {
			return otherLog("a key that you gave", origin, names[0])
		}
	}
	for _, raw := range kept {
		if head, err := proof.Read(raw); err == nil && !slices.Contains(names, head.Origin) {
			return otherLog("a checkpoint that you gave", head.Origin, names[0])
		}
	}
	return nil
}

func otherLog(what, origin, this string) error {
	origin, this = strings.TrimPrefix(origin, proof.Origin("")), strings.TrimPrefix(this, proof.Origin(""))
	return advise(fmt.Errorf("%s is about another log: it is about %.100s, and this is %.100s", what, origin, this),
		"give what was kept of this log, or name the other one; if the other one should be here, something else was put in its place")
}

// originsOf are the names that a log goes by: its own, and the one that its newest checkpoint is
// about. They are the same unless somebody has changed one of them, which verifying finds.
func originsOf(ctx context.Context, log *stored.Log) (names []string, err error) {
	id, err := log.ID(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which log %s is: %w", log, err)
	}
	newest, err := log.Newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the newest checkpoint of %s: %w", log, err)
	}
	names = append(names, proof.Origin(id))
	if head, err := proof.Read(newest.Note); err == nil {
		names = append(names, head.Origin)
	}
	return names, nil
}

func (a *app) readOrFetch(ctx context.Context, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return readFileAtMost(name, checkpointsMax)
	}
	ctx, stop := context.WithTimeout(ctx, fetchMax)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{}
	token := a.getenv("HECATE_RUNTIME_TOKEN")
	ours := req.URL.Path == checkpointPath
	if ours && token != "" {
		req.Header.Set("X-Hecate-Runtime-Token", token)
		// A redirect would carry the token to whoever it names.
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		err := fmt.Errorf("the answer is %s", res.Status)
		switch {
		case res.StatusCode != http.StatusUnauthorized:
		case ours && token != "":
			err = advise(err, "HECATE_RUNTIME_TOKEN is set and is not the token of that server")
		case ours:
			err = advise(err, "set HECATE_RUNTIME_TOKEN to the token of that server")
		default:
			err = advise(err, "fetch it with what that address asks for, and name the file")
		}
		return nil, err
	}
	raw, err := readAtMost(res.Body, checkpointsMax)
	var answer struct {
		Data struct{ Checkpoint string }
	}
	if err == nil && json.Unmarshal(raw, &answer) == nil && answer.Data.Checkpoint != "" { // as a server of ours says it
		raw = []byte(answer.Data.Checkpoint)
	}
	return raw, err
}

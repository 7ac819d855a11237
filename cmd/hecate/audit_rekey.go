package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"path/filepath"

	"hecate/api/request"
	"hecate/cmd/hecate/internal/operators"
	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/ident"
	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
)

// sealTries is how often a log is sealed anew whose other nodes were faster.
const sealTries = 20

type auditKeyRotate struct {
	Reason string `placeholder:"TEXT" help:"Why, for whoever reads the log later."`
}

// Help is the long help of the command.
func (auditKeyRotate) Help() string {
	return `Makes a new key. The old one signs a statement that names it, the log records that as an event, and the file
of the key holds the new one from then on; the old one is gone. Whoever has kept the old public key can
verify the log with it as before. The public key goes to standard output.

A log in SQLite belongs to its server while that runs: stop it first, it goes on with the new key. The nodes
of a log in PostgreSQL go on by themselves, if they share the file. A change that was cut off is carried to
its end by whoever seals the log next.`
}

// Run does the command.
func (c auditKeyRotate) Run(a *app) error {
	return a.rekey(func(ctx context.Context, r *rekeying) (string, error) { return r.rotate(ctx, c.Reason) })
}

type auditKeyReplace struct {
	Reason string `required:"" placeholder:"TEXT" help:"What became of the key, for whoever verifies the log later."`
}

// Help is the long help of the command.
func (auditKeyReplace) Help() string {
	return `For a log whose key is lost, so that nothing seals it any more. Makes a new key, without a word of the old one, and
says so: verification tells from where on nobody vouches for the key, and whoever holds the log against
the old public key has to be given the new one as well. With the old key at hand use rotate.`
}

// Run does the command.
func (c auditKeyReplace) Run(a *app) error {
	return a.rekey(func(ctx context.Context, r *rekeying) (string, error) { return r.replace(ctx, c.Reason) })
}

// rekey opens the log itself, not by way of a server: who may change the key is who can
// write its file.
func (a *app) rekey(do func(context.Context, *rekeying) (string, error)) error {
	ctx := context.Background()
	c, err := a.ownConfig()
	if err != nil {
		return err
	}
	r, err := a.openRekeying(ctx, c)
	if err != nil {
		return err
	}
	public, err := do(ctx, r)
	if err := errors.Join(err, r.x.Store.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s holds another key from here on, and the old one is gone; keep a copy of that file, and this public key beside the earlier ones:\n", r.file.Path)
	_, err = fmt.Fprintln(a.out, public)
	return err
}

// ownConfig is the configuration of the server whose data is on this machine.
func (a *app) ownConfig() (config, error) {
	c, err := readConfig(a.environ)
	if err != nil {
		return c, err
	}
	switch {
	case c.Backend == "memory":
		return c, errors.New("a log in memory is not sealed, and has no key")
	case c.Backend == "postgres":
		return c, nil
	}
	for _, dir := range a.dataDirs() {
		if exists(c.SQLitePath) || a.getenv("HECATE_SQLITE_PATH") != "" {
			break
		}
		if c, err = readConfig(a.environWith(map[string]string{"HECATE_DATA_DIR": dir})); err != nil {
			return c, err
		}
	}
	if !exists(c.SQLitePath) {
		return c, advise(fmt.Errorf("there is no log at %s", c.SQLitePath), "name its data directory: HECATE_DATA_DIR")
	}
	return c, nil
}

// rekeying changes the key of a log, in steps that can be cut off: the next key stands
// beside the old one before the log names it, and whoever seals the log, this command or a
// server, puts it into its place after that.
type rekeying struct {
	store  proof.Log
	file   proof.KeyFile
	sealer *proof.Sealer
	x      *commands.Executor
	actor  eventstore.Actor
}

func (a *app) openRekeying(ctx context.Context, c config) (*rekeying, error) {
	var store eventstore.Store
	var err error
	if c.Backend == "postgres" {
		store, err = openPostgresLog(ctx, c)
	} else {
		store, err = openSQLiteLog(ctx, c)
	}
	if errors.Is(err, eventstore.ErrInUse) {
		return nil, advise(err, "stop the server first: hecate stop; when it starts again it seals with the key that is there then")
	}
	if err != nil {
		return nil, err
	}
	r := &rekeying{x: &commands.Executor{
		Store: store, Clock: clock.System{}, NewID: newEventID, NewSalt: newSalt, Secrets: holdSecrets(c, slog.New(slog.DiscardHandler)),
	}}
	if r.actor, err = a.actorAt(c); err == nil {
		err = r.begin(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, nil
}

func (r *rekeying) begin(ctx context.Context, c config) error {
	log, ok := r.x.Store.(proof.Log)
	if !ok {
		return fmt.Errorf("a log in %s is not sealed", c.Backend)
	}
	file, err := auditKeyOf(ctx, c, log)
	if err != nil {
		return err
	}
	r.store, r.file = log, file.KeyFile
	if _, public, err := log.LastSeal(ctx); err != nil || public == "" {
		return cmp.Or(err, advise(errors.New("the log is not sealed yet, so it has no key to change"), unsealedAdvice))
	}
	r.sealer, err = proof.NewSealer(ctx, log, r.file, 0, slog.New(slog.DiscardHandler))
	return err
}

// actorAt is who works on the data of this machine: the operator whose token is at hand, or
// whoever the system says, which is no more than a claim.
func (a *app) actorAt(c config) (eventstore.Actor, error) {
	token := a.getenv(operatorTokenEnv)
	if token == "" {
		var err error
		if token, err = operators.ReadToken(filepath.Join(c.DataDir, operators.TokenFile)); err != nil {
			return eventstore.Actor{}, err
		}
	}
	if token != "" {
		if name := operators.Open(c.OperatorsFile, slog.New(slog.DiscardHandler)).Operator(token); name != "" {
			return eventstore.Actor{Kind: request.KindOperator, Name: name}, nil
		}
	}
	actor := eventstore.Actor{Kind: request.KindClient}
	if u, err := user.Current(); err == nil && operators.Sane(u.Username) {
		actor.Name = u.Username
	}
	return actor, nil
}

// rotate changes the key by the word of the old one.
func (r *rekeying) rotate(ctx context.Context, reason string) (string, error) {
	if err := r.seal(ctx); errors.Is(err, proof.ErrOtherKey) {
		return "", advise(err, "if that is not the file, name it: HECATE_AUDIT_KEY_FILE, or HECATE_DATA_DIR\nif the key is lost for good: hecate audit key replace --reason …")
	} else if err != nil {
		return "", err
	}
	_, public, err := r.store.LastSeal(ctx)
	if err != nil {
		return "", err
	}
	old, err := r.file.Holding(public)
	if err != nil {
		return "", err
	}
	next, err := r.file.Prepare()
	if err != nil {
		return "", err
	}
	statement, err := old.Vouch(next.Public)
	if err != nil {
		return "", err
	}
	if _, err := r.x.RotateKey(ctx, r.meta(next), logkey.Rotated{Old: old.Public, New: next.Public, Reason: reason, Statement: statement}); err != nil {
		return "", fmt.Errorf("record the change of the key: %w", err)
	}
	return next.Public, r.finish(ctx, next)
}

// replace puts another key in place of one that is lost.
func (r *rekeying) replace(ctx context.Context, reason string) (string, error) {
	switch err := r.seal(ctx); {
	case err == nil:
		return "", advise(fmt.Errorf("the key of the log is not lost: it is in %s", r.file.Path), "change it by its own word: hecate audit key rotate")
	case !errors.Is(err, proof.ErrOtherKey):
		return "", err
	}
	sealed, current, err := r.store.LastSeal(ctx)
	if err != nil {
		return "", err
	}
	changes, err := proof.Changes(ctx, r.store)
	if err != nil {
		return "", err
	}
	if terms, _ := proof.TermsOf(r.file.Origin, "", changes); len(terms) > 0 {
		current = terms[len(terms)-1].Public
	}
	next, err := r.file.Prepare()
	if err != nil {
		return "", err
	}
	if _, err := r.x.ReplaceKey(ctx, r.meta(next), logkey.Replaced{Old: current, New: next.Public, Reason: reason, After: sealed.Size}); err != nil {
		return "", fmt.Errorf("record the change of the key: %w", err)
	}
	return next.Public, r.finish(ctx, next)
}

// meta names the command after the key, so that it is recorded once however often it is tried.
func (r *rekeying) meta(next proof.Key) commands.Meta {
	return commands.Meta{Actor: r.actor, CommandID: ident.Derive("audit-key", next.Public)}
}

// finish puts the next key into its place, and seals the log with it.
func (r *rekeying) finish(ctx context.Context, next proof.Key) error {
	if _, err := r.file.Holding(next.Public); err != nil {
		return err
	}
	return r.seal(ctx)
}

// seal seals the log, which other nodes may be doing too.
func (r *rekeying) seal(ctx context.Context) (err error) {
	for range sealTries {
		if err = r.sealer.Seal(ctx); !errors.Is(err, eventstore.ErrSealed) {
			return err
		}
	}
	return err
}

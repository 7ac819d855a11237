package v1

import (
	"context"
	"encoding/hex"
	"net/http"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/api/envelope"
	"hecate/domain/fault"
	"hecate/eventstore"
	"hecate/eventstore/proof"
)

type checkpointInput struct {
	Since cursor `query:"since" doc:"Size of an earlier checkpoint: the answer then proves that the log has grown from it." example:"100"`
}

// checkpointState is how far the log is sealed.
type checkpointState struct {
	LogID       string   `json:"log_id" doc:"The log."`
	Head        int64    `json:"head" doc:"Sequence of its newest event."`
	Sealed      int64    `json:"sealed" doc:"Events up to this sequence are under the checkpoint; 0 if nothing is sealed."`
	Checkpoint  string   `json:"checkpoint,omitempty" doc:"Signed note in the form of C2SP tlog-checkpoint. Kept elsewhere, it proves later that none of those events was altered."`
	Key         string   `json:"key,omitempty" doc:"The public key that it is signed under."`
	Keys        []logKey `json:"keys,omitempty" doc:"All keys of the log, in the order in which they sign; more than one if the key was changed."`
	Consistency []string `json:"consistency,omitempty" doc:"With since: hashes, in hex, that prove that the tree of that size is the beginning of this one (RFC 6962)."`
}

// logKey is one key of the log.
type logKey struct {
	Key      string `json:"key" doc:"The public key."`
	Since    int64  `json:"since" doc:"Size of the first checkpoint that it has signed; 0 if it has signed none yet."`
	NamedBy  int64  `json:"named_by,omitempty" doc:"Sequence of the event that names it; none for the first key."`
	Replaced bool   `json:"replaced,omitempty" doc:"It took the place of a key that was lost, which does not vouch for it."`
	Reason   string `json:"reason,omitempty" doc:"What was said about that."`
}

type proofInput struct {
	Sequence cursor `path:"sequence" doc:"Sequence of the event."`
}

// eventProof leads from an event to a checkpoint.
type eventProof struct {
	Sequence   int64    `json:"sequence" doc:"Sequence of the event."`
	Hash       string   `json:"hash" doc:"Its hash, in hex: SHA-256 over all that it says."`
	LeafIndex  int64    `json:"leaf_index" doc:"Index of its leaf, which is made of the hash: the sequence less one."`
	Size       int64    `json:"size" doc:"Leaves of the tree."`
	Path       []string `json:"path" doc:"Hashes, in hex, that lead from the leaf to the root (RFC 6962, nearest first)."`
	Checkpoint string   `json:"checkpoint" doc:"The signed checkpoint with that root."`
	Key        string   `json:"key" doc:"The public key that it is signed under."`
}

func (a *API) registerProof() {
	const checkpoint = "hecate/log_0a1b2c3d4e5f60718293a4b5\n128\nqLz3uvh8eTPQ4u0Vb2rHnQpVQ6zPvY0Z3l5wN3kqXxE=\n\n— hecate/log_0a1b2c3d4e5f60718293a4b5 bK0Wcw…\n"
	register(a, spec{
		id: "getCheckpoint", method: http.MethodGet, path: Base + "/audit/checkpoint", tag: "Audit",
		summary: "Get the newest signed checkpoint",
		description: "About once a second the server seals what is in the log: it signs how many events there are, and the root of a Merkle tree over their hashes. " +
			"`hecate audit verify` holds a log against checkpoints that were kept elsewhere. Events behind `sealed` are not sealed yet.",
		fails: []int{http.StatusBadRequest},
		example: map[string]any{"object": "audit_checkpoint", "data": map[string]any{
			"log_id": "log_0a1b2c3d4e5f60718293a4b5", "head": 130, "sealed": 128, "checkpoint": checkpoint, "key": "hecate/log_0a1b2c3d4e5f60718293a4b5+6cad1673+AX…",
			"keys": []any{map[string]any{"key": "hecate/log_0a1b2c3d4e5f60718293a4b5+6cad1673+AX…", "since": 3}},
		}},
	}, a.checkpoint)
	register(a, spec{
		id: "getEventProof", method: http.MethodGet, path: Base + "/audit/events/{sequence}/proof", tag: "Audit",
		summary:     "Prove an event",
		description: "The way from an event to the newest checkpoint, which needs about twenty hashes in a log of a million events. A conflict says that the event is too new; try again in a second.",
		fails:       []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		example: map[string]any{"object": "audit_event_proof", "data": map[string]any{
			"sequence": 2, "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "leaf_index": 1, "size": 128,
			"path":       []any{"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"},
			"checkpoint": checkpoint, "key": "hecate/log_0a1b2c3d4e5f60718293a4b5+6cad1673+AX…",
		}},
	}, a.eventProof)
}

// sealed returns the tree with the newest checkpoint over it.
func (a *API) sealed(ctx context.Context) (tree eventstore.Tree, last eventstore.Checkpoint, key string, err error) {
	tree, ok := a.Commands.Store.(eventstore.Tree)
	if !ok {
		return nil, last, "", nil
	}
	last, key, err = tree.LastSeal(ctx)
	return tree, last, key, err
}

func (a *API) checkpoint(ctx context.Context, in *checkpointInput) (*answer[checkpointState], error) {
	since, err := in.Since.strict("since")
	if err != nil {
		return nil, err
	}
	tree, last, key, err := a.sealed(ctx)
	if err != nil {
		return nil, err
	}
	out := checkpointState{Sealed: last.Size, Checkpoint: string(last.Note), Key: key}
	if out.LogID, err = a.Commands.Store.LogID(ctx); err != nil {
		return nil, err
	}
	if out.Head, err = a.Commands.Store.Head(ctx); err != nil {
		return nil, err
	}
	if out.Keys, err = a.logKeys(ctx, tree, out.LogID); err != nil {
		return nil, err
	}
	if since > last.Size {
		return nil, fault.Invalid(envelope.TypeInvalid, "since is %d, and the log is sealed up to %d", since, last.Size)
	}
	if since > 0 {
		hashes, err := tlog.ProveTree(last.Size, since, proof.Hashes(ctx, tree))
		if err != nil {
			return nil, err
		}
		out.Consistency = inHex(hashes)
	}
	return of("audit_checkpoint", out), nil
}

// logKeys lists the keys of the log, as its records name them.
func (a *API) logKeys(ctx context.Context, tree eventstore.Tree, logID string) (keys []logKey, err error) {
	if tree == nil {
		return nil, nil
	}
	signing, err := tree.LogKeys(ctx)
	if err != nil || len(signing) == 0 {
		return nil, err
	}
	changes, err := proof.Changes(ctx, a.Commands.Store)
	if err != nil {
		return nil, err
	}
	begin := ""
	if len(changes) == 0 {
		begin = signing[0].Public
	}
	terms, _ := proof.TermsOf(proof.Origin(logID), begin, changes)
	for _, t := range terms {
		k := logKey{Key: t.Public, NamedBy: t.Named, Replaced: t.Replaced, Reason: t.Reason}
		for _, s := range signing {
			if s.Public == t.Public {
				k.Since = s.Since
			}
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func (a *API) eventProof(ctx context.Context, in *proofInput) (*answer[eventProof], error) {
	sequence, err := in.Sequence.strict("sequence")
	if err != nil {
		return nil, err
	}
	records, err := a.Commands.Store.ReadAll(ctx, sequence-1, 1)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || records[0].Position != sequence {
		return nil, fault.NotFound("not_found", "event not found")
	}
	tree, last, key, err := a.sealed(ctx)
	if err != nil {
		return nil, err
	}
	if sequence > last.Size {
		return nil, fault.Conflict("event_not_sealed", "the log is sealed up to %d, not yet up to %d; try again in a second", last.Size, sequence)
	}
	path, err := tlog.ProveRecord(last.Size, sequence-1, proof.Hashes(ctx, tree))
	if err != nil {
		return nil, err
	}
	return of("audit_event_proof", eventProof{
		Sequence: sequence, Hash: hex.EncodeToString(records[0].Hash[:]), LeafIndex: sequence - 1, Size: last.Size, Path: inHex(path),
		Checkpoint: string(last.Note), Key: key,
	}), nil
}

func inHex(hashes []tlog.Hash) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = hex.EncodeToString(h[:])
	}
	return out
}

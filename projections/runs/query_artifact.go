package runs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"

	"hecate/domain/run"
	"hecate/projections"
)

// Artifacts returns the artifacts of a run, newest first.
func (v *Views) Artifacts(ctx context.Context, taskID, runID string) ([]projections.Artifact, error) {
	return view(ctx, v, func(q query) ([]projections.Artifact, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return nil, err
		}
		return q.artifactItems(ctx, []foundRun{r}, "", true)
	})
}

// TaskArtifacts returns the artifacts of all runs of a task, newest first.
func (v *Views) TaskArtifacts(ctx context.Context, taskID string) ([]projections.Artifact, error) {
	return view(ctx, v, func(q query) ([]projections.Artifact, error) {
		runs, err := q.runs(ctx, taskID)
		if err != nil {
			return nil, err
		}
		return q.artifactItems(ctx, runs, "", true)
	})
}

// Artifact returns one artifact of a run.
func (v *Views) Artifact(ctx context.Context, taskID, runID, artifactID string) (projections.Artifact, error) {
	return view(ctx, v, func(q query) (projections.Artifact, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return projections.Artifact{}, err
		}
		found, err := q.artifactItems(ctx, []foundRun{r}, artifactID, true)
		if err != nil {
			return projections.Artifact{}, err
		}
		return first(found, "task artifact")
	})
}

// Patches returns the patches of a run, newest first.
func (v *Views) Patches(ctx context.Context, taskID, runID string) ([]projections.Patch, error) {
	return view(ctx, v, func(q query) ([]projections.Patch, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return nil, err
		}
		return q.patches(ctx, r, "")
	})
}

// Patch returns one patch of a run. An artifact of another kind is not found.
func (v *Views) Patch(ctx context.Context, taskID, runID, artifactID string) (projections.Patch, error) {
	return view(ctx, v, func(q query) (projections.Patch, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return projections.Patch{}, err
		}
		found, err := q.patches(ctx, r, artifactID)
		if err != nil {
			return projections.Patch{}, err
		}
		return first(found, "task patch")
	})
}

func (q query) patches(ctx context.Context, r foundRun, id string) ([]projections.Patch, error) {
	found, err := q.artifacts(ctx, r, id)
	if err != nil {
		return nil, err
	}
	parts, err := q.parts(ctx, r, id)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(a artifactRow) bool { return a.doc.Kind != "patch" })
	sortNewest(found, func(a artifactRow) (int64, string) { return a.pos, a.doc.ID })
	out := make([]projections.Patch, len(found))
	for i, a := range found {
		item, err := q.artifact(ctx, r, a, parts)
		if err != nil {
			return nil, err
		}
		out[i] = projections.Patch{Artifact: item, Diff: item.ContentText, Status: item.Status, Path: item.Path, BeforeExisted: a.doc.Existed}
	}
	return out, nil
}

func sortNewest[T any](items []T, key func(T) (int64, string)) {
	slices.SortFunc(items, func(a, b T) int {
		posA, idA := key(a)
		posB, idB := key(b)
		return cmp.Or(cmp.Compare(posB, posA), cmp.Compare(idB, idA))
	})
}

// artifactItems returns all artifacts of the runs, the conversation included, or the one with the id.
func (q query) artifactItems(ctx context.Context, runs []foundRun, id string, bodies bool) ([]projections.Artifact, error) {
	out := []projections.Artifact{}
	for _, r := range runs {
		items, err := q.ownArtifacts(ctx, r, id, bodies)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
		if r.doc.Talk != nil && (id == "" || id == run.ConversationID(r.item.ID)) {
			item, err := q.conversation(ctx, r, bodies)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
	}
	sortNewest(out, func(a projections.Artifact) (int64, string) { return a.Position, a.ID })
	return out, nil
}

// ownArtifacts returns the run's artifacts that have a row.
func (q query) ownArtifacts(ctx context.Context, r foundRun, id string, bodies bool) ([]projections.Artifact, error) {
	found, err := q.artifacts(ctx, r, id)
	if err != nil {
		return nil, err
	}
	var parts map[string][]part
	if bodies {
		if parts, err = q.parts(ctx, r, id); err != nil {
			return nil, err
		}
	}
	out := make([]projections.Artifact, len(found))
	for i, a := range found {
		if out[i], err = q.artifact(ctx, r, a, parts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (q query) artifacts(ctx context.Context, r foundRun, id string) ([]artifactRow, error) {
	text, args := `SELECT pos, doc FROM hecate_view_artifacts_@ WHERE run = $1`, []any{r.pos}
	if id != "" {
		text, args = text+` AND artifact_id = $2`, append(args, id)
	}
	return list(ctx, q, text, func(rows *sql.Rows) (a artifactRow, err error) {
		err = scanDoc(rows, &a.doc, &a.pos)
		return a, err
	}, args...)
}

// artifact is the item of a row, with its content if parts is not nil.
func (q query) artifact(ctx context.Context, r foundRun, a artifactRow, parts map[string][]part) (projections.Artifact, error) {
	item := a.doc.Artifact
	item.TaskID, item.RunID, item.RequestID, item.TraceID = r.item.TaskID, r.item.ID, r.item.RequestID, r.item.TraceID
	item.Position, item.Preview = a.pos, string(a.doc.Preview)
	if parts == nil {
		return item, nil
	}
	content, err := q.content(ctx, r, a, parts[item.ID])
	if err != nil {
		return item, err
	}
	if item.Kind == "stdout" || item.Kind == "stderr" {
		item.Preview = string(content[:min(len(content), previewBytes)])
	}
	setContent(&item, content)
	return item, nil
}

func setContent(item *projections.Artifact, content []byte) {
	item.ContentText, item.SizeBytes = string(content), int64(len(content))
	if item.Status != "streaming" {
		sum := sha256.Sum256(content)
		item.SHA256 = hex.EncodeToString(sum[:])
	}
}

// part is a piece of a content.
type part struct {
	number, kind int64
	body         []byte
}

// parts returns the pieces of a run's contents by artifact, or those of one artifact.
func (q query) parts(ctx context.Context, r foundRun, id string) (map[string][]part, error) {
	text, args := `SELECT artifact_id, part, kind, body FROM hecate_view_parts_@ WHERE run = $1`, []any{r.pos}
	if id != "" {
		text, args = text+` AND artifact_id = $2`, append(args, id)
	}
	out := map[string][]part{}
	err := q.tx.Query(ctx, text+` ORDER BY artifact_id, part`, func(rows *sql.Rows) error {
		var of string
		var p part
		err := rows.Scan(&of, &p.number, &p.kind, &p.body)
		out[of] = append(out[of], p)
		return err
	}, args...)
	return out, err
}

// content puts an artifact's pieces together.
func (q query) content(ctx context.Context, r foundRun, a artifactRow, parts []part) ([]byte, error) {
	var out []byte
	for _, p := range parts {
		if p.number < a.pos { // of an older form
			continue
		}
		body := p.body
		var err error
		switch p.kind {
		case partBlob:
			body, err = q.blob(ctx, string(p.body))
		case partMessage:
			body, err = q.messageText(ctx, r.pos, string(p.body))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, body...)
	}
	return out, nil
}

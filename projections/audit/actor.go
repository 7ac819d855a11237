package audit

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"hecate/domain/fault"
	"hecate/projections/readdb"
)

// actorKinds are the kinds of actors, see eventstore.Actor.
var actorKinds = []string{"operator", "client", "worker", "schedule", "system"}

// actorCodes finds the actors that a filter means.
func actorCodes(ctx context.Context, tx *readdb.Tx, actor string) ([]int64, error) {
	kind, who, named := strings.Cut(actor, ":")
	var prefixes []string
	switch {
	case named:
		prefixes = append(prefixes, kind+actorSeparator+who+actorSeparator)
	case slices.Contains(actorKinds, actor):
		prefixes = append(prefixes, actor+actorSeparator)
	default:
		for _, k := range actorKinds {
			prefixes = append(prefixes, k+actorSeparator+actor+actorSeparator)
		}
	}
	var out []int64
	for _, p := range prefixes {
		to := []byte(p)
		to[len(to)-1]++ // just behind everything that begins with p
		err := tx.Query(ctx, `SELECT code FROM hecate_view_audit_names_@ WHERE kind = $1 AND value >= $2 AND value < $3 ORDER BY value LIMIT 101`, func(rows *sql.Rows) error {
			var code int64
			err := rows.Scan(&code)
			if out = append(out, code); err == nil && len(out) > choicesMax {
				err = errTooMany
			}
			return err
		}, kindActor, []byte(p), to)
		if errors.Is(err, errTooMany) {
			return nil, fault.Invalid("invalid_request", "actor: %s stands for more than %d; name one of them", actor, choicesMax)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

package v1

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/projections/audit"
)

// jsonLines is the media type of one JSON value on each line.
const jsonLines = "application/jsonl"

// lineMax is how long a client may take for a page of lines.
const lineMax = 30 * time.Second

// auditLines answers with all that f wants, up to where the model is now. The first
// page is there before the answer begins, so that a bad filter is still refused.
func (a *API) auditLines(ctx context.Context, f audit.Filter, order audit.Order) (*auditOutput, error) {
	end, err := a.Models.Position(audit.Name)
	if err != nil {
		return nil, err
	}
	if f.Before == 0 || f.Before > end+1 {
		f.Before = end + 1
	}
	items, next, err := a.auditItems(ctx, f, order, auditPageMax)
	if err != nil {
		return nil, err
	}
	return &auditOutput{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		w.Header().Set("Content-Type", jsonLines)
		w.WriteHeader(http.StatusOK)
		c := http.NewResponseController(w)
		for {
			_ = c.SetWriteDeadline(time.Now().Add(lineMax)) // not every ResponseWriter can
			for _, i := range items {
				if _, err = w.Write(append(i.JSON(), '\n')); err != nil {
					return // the client is gone
				}
			}
			if err = c.Flush(); err != nil || next == 0 {
				return
			}
			if order == audit.NewestFirst {
				f.Before = next
			} else {
				f.After = next
			}
			if items, next, err = a.auditItems(r.Context(), f, order, auditPageMax); err != nil {
				a.Log.ErrorContext(r.Context(), "a list of events broke off", "error", err)
				panic(http.ErrAbortHandler) // the client must not take it for whole
			}
		}
	}}, nil
}

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// FeedFilter chooses events of all runs.
type FeedFilter struct {
	Task  string
	Types string // separated by commas
	After int64  // only events behind this position
}

// FeedEvents reads one page of the history of all runs, oldest first. The end is an
// empty page.
func (c *Client) FeedEvents(ctx context.Context, f FeedFilter) ([]Event, error) {
	query := url.Values{"after_sequence": {strconv.FormatInt(f.After, 10)}, "limit": {"500"}}
	if f.Task != "" {
		query.Set("task_id", f.Task)
	}
	if f.Types != "" {
		query.Set("event_type", f.Types)
	}
	var out []Event
	_, err := c.call(ctx, http.MethodGet, "/events?"+query.Encode(), nil, &out)
	return out, err
}

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// AuditFilter chooses events of the whole log by what they speak of.
type AuditFilter struct {
	Task, Run, Actor, Types, Tool, Path, Host, Secret, Approval string
	Since, Until                                                string // RFC 3339
	After, Before                                               int64  // positions that are not included; 0 for no bound
}

func (f AuditFilter) query() url.Values {
	out := url.Values{}
	for name, value := range map[string]string{
		"task_id": f.Task, "run_id": f.Run, "actor": f.Actor, "event_type": f.Types, "tool": f.Tool, "path": f.Path, "host": f.Host,
		"secret": f.Secret, "approval_id": f.Approval, "from": f.Since, "to": f.Until,
	} {
		if value != "" {
			out.Set(name, value)
		}
	}
	for name, value := range map[string]int64{"after_sequence": f.After, "before_sequence": f.Before} {
		if value > 0 {
			out.Set(name, strconv.FormatInt(value, 10))
		}
	}
	return out
}

// Audit hands all events that f chooses to each, oldest first, up to what the log held
// when it was asked. An error of each ends it.
func (c *Client) Audit(ctx context.Context, f AuditFilter, each func(Event) error) error {
	query := f.query()
	query.Set("format", "jsonl")
	query.Set("order", "asc")
	res, err := c.send(ctx, http.MethodGet, apiPath+"/audit/events?"+query.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// AuditLast returns the newest n events that f chooses, oldest first.
func (c *Client) AuditLast(ctx context.Context, f AuditFilter, n int) ([]Event, error) {
	var out []Event
	for len(out) < n {
		query := f.query()
		query.Set("order", "desc")
		query.Set("limit", strconv.Itoa(min(n-len(out), auditPage)))
		page, before, err := c.auditPage(ctx, query)
		if err != nil {
			return nil, err
		}
		if out = append(out, page...); before == 0 {
			break
		}
		f.Before = before
	}
	slices.Reverse(out)
	return out, nil
}

// auditPage is how many events the server gives at once.
const auditPage = 500

func (c *Client) auditPage(ctx context.Context, query url.Values) ([]Event, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := c.send(ctx, http.MethodGet, apiPath+"/audit/events?"+query.Encode(), nil, nil)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	var page struct {
		Data   []Event
		Before int64 `json:"next_before_sequence"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, answerMax)).Decode(&page); err != nil {
		return nil, 0, fmt.Errorf("read the events: %w", err)
	}
	return page.Data, page.Before, nil
}

// Erase says whose content is to be erased: that of a task, of a run, or of single events.
type Erase struct {
	TaskID    string  `json:"task_id,omitempty"`
	RunID     string  `json:"run_id,omitempty"`
	Sequences []int64 `json:"sequences,omitempty"`
	Reason    string  `json:"reason"`
}

// Erased is what was erased, and where the log says so.
type Erased struct {
	Erasures []int64 `json:"erasures"`
	Records  int     `json:"records"`
	Contents int     `json:"contents"`
}

// Erase takes away what events say, for good.
func (c *Client) Erase(ctx context.Context, e Erase) (Erased, error) {
	var out Erased
	_, err := c.call(ctx, http.MethodPost, "/audit/erasures", e, &out)
	return out, err
}

package main

import (
	"context"
	"fmt"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
)

// auditLog is "hecate audit log".
type auditLog struct {
	serverFlags
	Task string `help:"Only events of this task."`
	Type string `help:"Only events of these types, separated by commas."`
	JSON bool   `name:"json" help:"Print the events as JSON lines, complete and unchanged."`
}

// Run does the command.
func (c auditLog) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	log := show.NewLog(a.out, a.outStyle)
	for after := int64(0); ; {
		page, err := server.FeedEvents(ctx, client.FeedFilter{Task: c.Task, Types: c.Type, After: after})
		if err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, e := range page {
			after = e.Sequence
			if !c.JSON {
				log.Event(e)
			} else if _, err := fmt.Fprintf(a.out, "%s\n", e.Raw); err != nil {
				return err
			}
		}
	}
}

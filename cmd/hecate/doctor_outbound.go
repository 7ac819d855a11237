package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"

	"hecate/cmd/hecate/internal/client"
	"hecate/projections/webhook"
)

// outbound says how the brokers and the webhook's receiver stand: as a running server sees
// them, or else whether they can be reached from here.
func (f *findings) outbound(ctx context.Context, a *app, c config) {
	ctx, stop := context.WithTimeout(ctx, probeMax)
	defer stop()
	if len(c.Outbound.Targets) == 0 && c.Outbound.Receiver == nil {
		return
	}
	known := a.sending(ctx, c.DataDir)
	for _, t := range c.Outbound.Targets {
		f.target(ctx, "forward", t.Name(), t.Hosts, known)
	}
	if u := c.Outbound.Receiver; u != nil {
		f.target(ctx, "webhook", webhook.Name(u), []string{hostPort(u)}, known)
	}
}

func (f *findings) target(ctx context.Context, check, name string, hosts []string, known []client.Projection) {
	for _, p := range known {
		switch {
		case p.Name != name:
		case p.Trouble != "":
			f.add(check, wanting, "%s is %d events behind: %s", name, p.Lag, p.Trouble)
			return
		default:
			f.add(check, healthy, "%s has all events but the latest %d", name, p.Lag)
			return
		}
	}
	var err error
	for _, host := range hosts {
		if err = dial(ctx, host); err == nil {
			f.add(check, healthy, "%s can be reached", name)
			return
		}
	}
	f.add(check, wanting, "%s cannot be reached; events wait in the log until it can: %s", name, firstLineOf(err))
}

func dial(ctx context.Context, host string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return conn.Close()
}

func hostPort(u *url.URL) string {
	usual := "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual))
}

// sending asks the server that runs on the data directory, if one does, how far it has come.
func (a *app) sending(ctx context.Context, dir string) []client.Projection {
	for _, r := range a.runningServers() {
		if r.dir != dir || r.PID <= 0 || !alive(r.PID) {
			continue
		}
		c, err := client.New(r.BaseURL, a.getenv("HECATE_RUNTIME_TOKEN"), nil)
		if err != nil {
			continue
		}
		if list, err := c.Projections(ctx); err == nil { // without one it is looked from here
			return list
		}
	}
	return nil
}

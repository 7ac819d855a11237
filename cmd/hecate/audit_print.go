package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/eventstore/proof/archive"
	"hecate/eventstore/proof/verify"
)

// print says what was found in a log.
func (c auditVerify) print(a *app, r verify.Report) error {
	if c.JSON {
		return c.json(a, r, r.Findings)
	}
	within := ""
	if r.Streams > 0 { // how many there are is not known of a log that could not be read to its end
		within = " in " + show.Count(int64(r.Streams), "stream")
	}
	fmt.Fprintf(a.out, "log        %s: %s%s\n", terminal.Line(r.LogID), show.Count(r.Records, "record"), within)
	switch tail := r.Records - r.Sealed; {
	case r.Sealed == 0:
		fmt.Fprintln(a.out, "sealed     nothing: the records were held against their own hashes only")
	case tail > 0:
		fmt.Fprintf(a.out, "sealed     up to record %d; the %s behind it not yet\n", r.Sealed, show.Count(tail, "record"))
	default:
		fmt.Fprintf(a.out, "sealed     up to record %d, the last one\n", r.Sealed)
	}
	printErasures(a, r.Erased, r.Erasures)
	if r.Key != "" {
		c.keys(a, show.Count(int64(r.Checkpoints), "checkpoint"), r, "the log names itself")
	}
	c.kept(a, r.Kept)
	notices(a, r.Notices)
	return c.findings(a, r.Findings)
}

// printExport says what was found in an export.
func (c auditVerify) printExport(a *app, r archive.Report) error {
	if c.JSON {
		return c.json(a, r, r.Findings)
	}
	fmt.Fprintf(a.out, "export     %s of %s: %s, %s beside them\n", terminal.Line(r.Manifest.Asked), terminal.Line(r.Manifest.LogID), show.Count(r.Records, "record"), show.Count(r.Contents, "large content"))
	fmt.Fprintf(a.out, "sealed     by the checkpoint for %s\n", show.Count(r.Manifest.Size, "record"))
	printErasures(a, r.Erased, r.Erasures)
	if r.Unsealed > 0 {
		fmt.Fprintf(a.out, "           %s behind it not proven\n", show.Count(r.Unsealed, "record"))
	}
	follows := !slices.ContainsFunc(r.Findings, func(f verify.Finding) bool { return f.Kind == verify.Signature })
	c.key(a, "the checkpoint", r.Key, follows, "the export names itself")
	c.kept(a, r.Kept)
	for _, size := range r.Other {
		fmt.Fprintf(a.out, "kept       the checkpoint for %s is another one than that of the export, and says nothing about it\n", show.Count(size, "record"))
	}
	notices(a, r.Notices)
	return c.findings(a, r.Findings)
}

// key says under which key something is signed. It follows from the given ones if they lead to it.
func (c auditVerify) key(a *app, what, key string, follows bool, otherwise string) {
	whose := "which " + otherwise
	if slices.Contains(c.given, key) {
		whose = "which you gave"
	} else if len(c.given) > 0 && follows {
		whose = "which follows from what you gave"
	} else if len(c.given) > 0 {
		whose = "which is none that you gave"
	}
	fmt.Fprintf(a.out, "signed     %s under %s,\n           %s\n", what, terminal.Line(key), whose)
}

// keys says under which keys a log is sealed, the newest one last.
func (c auditVerify) keys(a *app, what string, r verify.Report, otherwise string) {
	if len(r.Keys) < 2 {
		c.key(a, what, r.Key, false, otherwise)
		return
	}
	fmt.Fprintf(a.out, "signed     %s under %d keys:\n", what, len(r.Keys))
	for _, k := range r.Keys {
		mark := ""
		if slices.Contains(c.given, k.Public) {
			mark = " (which you gave)"
		}
		fmt.Fprintf(a.out, "           %s%s\n             %s\n", terminal.Line(k.Public), mark, terminal.Line(aboutKey(k)))
	}
	if len(c.given) == 0 {
		fmt.Fprintf(a.out, "           which %s\n", otherwise)
	}
}

func notices(a *app, list []verify.Notice) {
	for _, n := range list {
		fmt.Fprintf(a.out, "%s %s\n", a.outStyle.Yellow(fmt.Sprintf("%-10s", "notice")), terminal.Line(n.Text))
	}
}

// erasuresShown is how many erasures are told one by one.
const erasuresShown = 20

// printErasures says what was erased, by whom and why. It is no finding: the log says it itself.
func printErasures(a *app, records int64, list []verify.Erased) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(a.out, "erased     the content of %s, in %s\n", show.Count(records, "record"), show.Count(int64(len(list)), "erasure"))
	for _, e := range list[max(0, len(list)-erasuresShown):] {
		by, why := e.Actor.Kind+" "+e.Actor.Name, e.Reason
		if e.Policy != "" {
			why = "retention of " + e.Policy
		}
		fmt.Fprintf(a.out, "           %d  %s  %s, %s: %s\n", e.Position, e.At.UTC().Format(time.DateTime), terminal.Line(e.Subject), terminal.Line(strings.TrimSpace(by)), terminal.Line(why))
	}
	if more := len(list) - erasuresShown; more > 0 {
		fmt.Fprintf(a.out, "           %d before them; see --json\n", more)
	}
}

func (c auditVerify) kept(a *app, sizes []int64) {
	for _, size := range sizes {
		fmt.Fprintf(a.out, "kept       the checkpoint for %s fits\n", show.Count(size, "record"))
	}
}

// findings prints what was found, and says so with the exit code.
func (c auditVerify) findings(a *app, findings []verify.Finding) error {
	for _, f := range findings {
		fmt.Fprintf(a.out, "%s %s\n", a.outStyle.Red(fmt.Sprintf("%-10s", f.Kind)), terminal.Line(f.Text))
	}
	if len(findings) > 0 {
		return exit(exitAltered)
	}
	fmt.Fprintln(a.out, a.outStyle.Green("nothing was altered"))
	if len(c.given) == 0 {
		fmt.Fprintln(a.out, a.outStyle.Dim("  unless somebody made it all up: hold it against a key and a checkpoint that were kept elsewhere, --key and --checkpoint"))
	}
	return nil
}

func (auditVerify) json(a *app, report any, findings []verify.Finding) error {
	if err := json.NewEncoder(a.out).Encode(report); err != nil {
		return err
	}
	if len(findings) > 0 {
		return exit(exitAltered)
	}
	return nil
}

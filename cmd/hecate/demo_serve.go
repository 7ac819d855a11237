package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"hecate/cmd/hecate/internal/terminal"
)

// serve keeps the server for somebody who wants to try things on it, until Ctrl-C.
func (d *demo) serve(server *localServer, project string) error {
	stop := d.catchInterrupts()
	defer stop()
	d.section("try it")
	fmt.Fprintf(d.out, `The server runs until Ctrl-C%s. Whatever you ask for, the model plays its part:
it repairs Median, adds a case to the test and runs it.

in the browser        %s/tasks/new
  working directory   %s

in another terminal   export HECATE_DATA_DIR=%s
                      cd %s
                      hecate run "%s"

README.md and docs/console.md walk through both.
`, map[bool]string{false: ", and everything here goes with it"}[d.keep], server.BaseURL(), terminal.Line(project),
		terminal.Line(filepath.Join(d.dir, "data")), terminal.Line(project), demoWish)
	var err error
	select {
	case <-d.interrupt:
	case err = <-server.lost:
		err = endedByItself(err)
	}
	return errors.Join(err, server.close())
}

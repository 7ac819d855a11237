// Command hecate is the whole of Hecate in one binary: the server with its API
// and workers, and the command line that drives it.
//
// The commands that work with a server speak to it over HTTP, like any other
// client; run and demo start one inside the process when none is running.
package main

import (
	"os"

	"hecate/tools/process"
)

func main() {
	process.SuperviseIfAsked() // first: this may be the supervisor of a command, and nothing else
	os.Exit(newApp().run(os.Args[1:]))
}

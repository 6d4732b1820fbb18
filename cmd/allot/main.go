// Command allot runs a Kubernetes-compatible control plane that allocates devices to
// groups of pods. See internal/app for its subcommands.
package main

import (
	"os"

	"github.com/allot-dev/allot/internal/app"
)

func main() { os.Exit(app.Main()) }

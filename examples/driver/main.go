// Command driver is a small DRA driver; see package exampledriver and docs/drivers.md.
package main

import (
	"os"

	"github.com/allot-dev/allot/examples/driver/exampledriver"
)

func main() { os.Exit(exampledriver.Main()) }

// Command peer compares this project with Kubernetes itself.
//
//	go run . agree [-cases 20000] [-seed 1] [-case N]
//	go run . speed [-case text] [-features all|default] [-timeout 10s] [-rounds 5]
//
// See README.md.
package main

import (
	"fmt"
	"os"
)

var commands = map[string]func(arguments []string) error{
	"agree": agree,
	"speed": speed,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peer agree|speed [flags]")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

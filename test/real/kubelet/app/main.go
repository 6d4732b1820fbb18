// Command app is the only program in the image of the test: it is built without C, so that it needs
// no files of a distribution.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	code, err := run(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run runs the command that the program is called as, or that its arguments name.
func run(args []string) (int, error) {
	if args[0] == "app" {
		if args = args[1:]; len(args) == 0 {
			args = []string{"pause"}
		}
	}
	name, args := args[0], args[1:]
	switch name {
	case "pause": // waits for a signal
		environment("")
		<-signaled()
	case "env": // prints the variables whose names begin with the argument
		environment(args[0])
	case "echo": // prints each line of its input
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println("echo:", in.Text())
		}
	case "tick": // prints a line each 200 ms
		return 0, tick()
	case "exit": // ends with a code
		return strconv.Atoi(args[0])
	case "serve": // prints a line to each connection to an address
		return 0, serve(args[0])
	case "tar", "test": // what kubectl cp runs
		return copying(name, args)
	default:
		return 0, fmt.Errorf("unknown command %s", name)
	}
	return 0, nil
}

func environment(prefix string) {
	variables := os.Environ()
	slices.Sort(variables)
	for _, v := range variables {
		if strings.HasPrefix(v, prefix) {
			fmt.Println(v)
		}
	}
}

// signaled returns a channel that has a value when the program is to end.
func signaled() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return signals
}

func tick() error {
	for end, n := signaled(), 0; ; n++ {
		fmt.Println("tick", n)
		select {
		case <-end:
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// serve serves until a signal arrives.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving at", listener.Addr())
	go func() {
		<-signaled()
		os.Exit(0)
	}()
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_ = connection.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintln(connection, "hello")
		connection.Close()
	}
}

package app

import (
	"fmt"
	"net"
)

// checkLoopback refuses an address that others than this machine can reach.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen: %q is not a loopback address", host)
	}
	return nil
}

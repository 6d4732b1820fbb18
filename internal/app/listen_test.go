package app

import "testing"

func TestListenOnLoopbackOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:6443": true,
		"127.8.0.1:0":    true,
		"[::1]:6443":     true,
		"localhost:6443": true,
		":6443":          false, // all interfaces
		"0.0.0.0:6443":   false,
		"[::]:6443":      false,
		"10.0.0.7:6443":  false,
		"example.com:80": false,
		"127.0.0.1":      false, // no port
	} {
		if err := checkLoopback(address); (err == nil) != ok {
			t.Errorf("checkLoopback(%q) = %v, want ok: %t", address, err, ok)
		}
	}
}

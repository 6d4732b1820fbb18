package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestListenOnLoopbackOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:6443":  true,
		"127.8.0.1:0":     true,
		"[::1]:6443":      true,
		"localhost:6443":  true,
		":6443":           false, // all interfaces
		"0.0.0.0:6443":    false,
		"[::]:6443":       false,
		"10.0.0.7:6443":   false,
		"example.com:80":  false,
		"127.0.0.1":       false, // no port
		"127.0.0.1:99999": false,
		"127.0.0.1:http4": false,
	} {
		if err := checkLoopback(address); (err == nil) != ok {
			t.Errorf("checkLoopback(%q) = %v, want ok: %t", address, err, ok)
		}
	}
}

func TestLastPort(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, kubeconfigName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := lastPort(dir); got != "" {
		t.Errorf("port %q of a directory without a kubeconfig", got)
	}
	write("not: [a kubeconfig")
	if got := lastPort(dir); got != "" {
		t.Errorf("port %q of no kubeconfig", got)
	}
	write("{apiVersion: v1, kind: Config, clusters: [{name: allot, cluster: {server: 'https://127.0.0.1:4711'}}]}")
	if got := lastPort(dir); got != "4711" {
		t.Errorf("port %q", got)
	}
}

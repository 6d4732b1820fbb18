package kubelet

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// reachPod is a pod with a container that serves a port, one that prints, and one that reads its input.
// On start it reaches neither a registry nor the API server.
const reachPod = `
apiVersion: v1
kind: Pod
metadata: {name: reach, labels: {app: reach}}
spec:
  nodeName: real-0
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: serve
    image: allot.test/app:1
    imagePullPolicy: Never
    args: [serve, "127.0.0.1:8080"]
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  - {name: tick, image: "allot.test/app:1", imagePullPolicy: Never, args: [tick]}
  - {name: echo, image: "allot.test/app:1", imagePullPolicy: Never, args: [echo], stdin: true, stdinOnce: true}
`

// reached: kubectl logs, exec, attach, cp and port-forward go through the API server to the kubelet.
func (s *site) reached(t *testing.T) {
	s.apply(t, reachPod)
	s.running(t, "app=reach", 1)
	eventually(t, time.Minute, "serving at", func() string { out, _ := s.try("logs", "reach", "-c", "serve"); return out })
	for _, c := range []struct {
		input string
		args  []string
		want  string
	}{
		{"", []string{"logs", "reach", "-c", "tick", "--tail=1"}, "tick"},
		{"", []string{"exec", "reach", "-c", "serve", "--", "/app", "env", "NODE"}, "NODE=real-0"},
		{"a b\n", []string{"exec", "-i", "reach", "-c", "serve", "--", "/app", "echo"}, "echo: a b"},
		{"a b\n", []string{"attach", "-i", "reach", "-c", "echo"}, "echo: a b"},
	} {
		if out, err := s.input(c.input, c.args...); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("kubectl %s: %s, error %v, want %q", strings.Join(c.args, " "), out, err, c.want)
		}
	}
	if out, err := s.try("exec", "reach", "-c", "serve", "--", "/app", "exit", "3"); err == nil ||
		!strings.Contains(out, "exit code 3") {
		t.Errorf("the exit code: %s, error %v", out, err)
	}
	s.attached(t)
	s.copied(t)
	s.forwarded(t)
	s.kubectl(t, "delete", "pod", "reach", "--timeout=60s")
}

// attached: what a container prints is followed until the client ends, and longer than any timeout of
// the server for other requests.
func (s *site) attached(t *testing.T) {
	t.Helper()
	attach := start(t, s.environment(), program("allot"), "kubectl", "attach", "reach", "-c", "tick")
	follow := start(t, s.environment(), program("allot"), "kubectl", "logs", "-f", "reach", "-c", "tick")
	for _, p := range []*process{attach, follow} {
		eventually(t, time.Minute, "tick", p.log.String)
	}
	time.Sleep(65 * time.Second)
	for _, p := range []*process{attach, follow} {
		select {
		case <-p.ended:
			t.Errorf("kubectl %s has ended: %s", p.args[1], p.log.tail(5))
		default:
			before := p.log.String()
			eventually(t, 5*time.Second, "more", func() string {
				if p.log.String() != before {
					return "more"
				}
				return ""
			})
		}
		p.stop()
	}
}

// copied: a file is the same after kubectl cp to the container and back.
func (s *site) copied(t *testing.T) {
	t.Helper()
	content := strings.Repeat("0123456789abcdef", 1<<16)
	from, to := s.write(t, "from", content), filepath.Join(s.root, "to")
	s.kubectl(t, "cp", from, "reach:/copied", "-c", "serve")
	s.kubectl(t, "cp", "reach:/copied", to, "-c", "serve")
	if got, err := os.ReadFile(to); err != nil || string(got) != content {
		t.Errorf("%d bytes came back, error %v", len(got), err)
	}
}

func (s *site) forwarded(t *testing.T) {
	t.Helper()
	local := freePort(t, "127.0.0.1")
	start(t, s.environment(), program("allot"), "kubectl", "port-forward", "reach", local+":8080")
	for range 3 { // connections are independent of each other
		eventually(t, time.Minute, "hello", func() string {
			connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", local))
			if err != nil {
				return err.Error()
			}
			defer connection.Close()
			_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
			line, _ := bufio.NewReader(connection).ReadString('\n')
			return line
		})
	}
}

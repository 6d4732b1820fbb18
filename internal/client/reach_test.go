package client

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	core "github.com/allot-dev/allot/api/core/v1"
)

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// unreachableServer is a server that is not reachable for a time.
type unreachableServer struct {
	*memory
	until time.Time
}

func (s *unreachableServer) List(ctx context.Context, opts metav1.ListOptions) (*core.PodList, error) {
	if time.Now().Before(s.until) {
		return nil, errRefused
	}
	return s.memory.List(ctx, opts)
}

func (s *unreachableServer) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if time.Now().Before(s.until) {
		return nil, errRefused
	}
	return s.memory.Watch(ctx, opts)
}

// However long the server was not reachable, a cache reconnects within two seconds after it is.
func TestReconnectsWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := &unreachableServer{memory: newMemory(pod("ns", "a", "", "1"))}
		pods := newInformer(server, &core.Pod{})
		go pods.shared.RunWithContext(ctx)
		defer func() { cancel(); synctest.Wait() }()
		synctest.Wait()

		server.until = time.Now().Add(10 * time.Minute)
		server.last().Stop()
		time.Sleep(10*time.Minute + 2*time.Second)
		synctest.Wait()
		server.last().Modify(pod("ns", "a", "n1", "2"))
		synctest.Wait()
		if got, _ := pods.Get("ns", "a"); got == nil || got.Spec.NodeName != "n1" {
			t.Errorf("the cache shows %v", got)
		}
	})
}

// A cancelled request does not wait for the server, and a request that got a response is not
// repeated.
func TestReachGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := reach(ctx, "pods", func() (int, error) { return 0, errRefused }); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		asked := 0
		overloaded := errors.New("overloaded")
		if _, err := reach(t.Context(), "pods", func() (int, error) { asked++; return 0, overloaded }); !errors.Is(err,
			overloaded) ||
			asked != 1 {
			t.Error(err, asked)
		}
	})
}

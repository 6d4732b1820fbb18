package node

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// addresses assigns IP addresses to nodes, from 172.16.0.0/12, and to pods, from a /24 of
// 10.0.0.0/8 per node.
type addresses struct {
	mu    sync.Mutex
	used  map[string]types.UID // pod UIDs by address
	byPod map[types.UID]string
}

func newAddresses() *addresses {
	return &addresses{used: map[string]types.UID{}, byPod: map[types.UID]string{}}
}

// nodeAddress returns the address of the i-th node of the fleet.
func nodeAddress(i int) string {
	n := i + 1
	return fmt.Sprintf("172.%d.%d.%d", 16+n>>16, n>>8&255, n&255)
}

// record records the address that a pod already has.
func (a *addresses) record(pod types.UID, ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[ip], a.byPod[pod] = pod, ip
}

// assign returns the address of a pod, assigning one if necessary. It is empty if the range of the
// node is exhausted.
func (a *addresses) assign(pod types.UID, node int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip, ok := a.byPod[pod]; ok {
		return ip
	}
	for host := 1; host < 255; host++ {
		ip := fmt.Sprintf("10.%d.%d.%d", node>>8&255, node&255, host)
		if _, taken := a.used[ip]; !taken {
			a.used[ip], a.byPod[pod] = pod, ip
			return ip
		}
	}
	return ""
}

func (a *addresses) release(pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip, ok := a.byPod[pod]; ok {
		delete(a.byPod, pod)
		if a.used[ip] == pod {
			delete(a.used, ip)
		}
	}
}

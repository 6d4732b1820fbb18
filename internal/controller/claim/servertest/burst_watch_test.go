package servertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// atOnce is how many requests a client of these tests has under way.
const atOnce = 20

// watched notes when pods were admitted and when their claims were seen.
type watched struct {
	mu       sync.Mutex
	admitted map[types.UID]time.Time
	claimed  map[types.UID]time.Time
}

func (w *watched) admit(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.admitted[uid] = time.Now()
}

func (w *watched) claim(_, claim *resource.ResourceClaim) {
	if claim == nil || len(claim.OwnerReferences) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner := claim.OwnerReferences[0].UID; w.claimed[owner].IsZero() {
		w.claimed[owner] = time.Now()
	}
}

// waits are how long the pods waited for their claims, the shortest first.
func (w *watched) waits() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var waits []time.Duration
	for uid, at := range w.admitted {
		waits = append(waits, w.claimed[uid].Sub(at))
	}
	slices.Sort(waits)
	return waits
}

// claimsAlone is how long a client takes that does nothing but create as many claims, in as many
// requests at once as the pods.
func claimsAlone(t *testing.T, namespaces []string, each int) time.Duration {
	began := time.Now()
	var creators errgroup.Group
	creators.SetLimit(atOnce)
	for _, ns := range namespaces {
		for i := range each {
			creators.Go(func() error {
				claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("alone-%d", i), Namespace: ns}}
				claim.Spec = template(ns).Spec.Spec
				_, err := set.ResourceClaims(ns).Create(t.Context(), claim, metav1.CreateOptions{})
				return err
			})
		}
	}
	if err := creators.Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

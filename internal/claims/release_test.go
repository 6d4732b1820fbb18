package claims_test

import (
	"fmt"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// More pods run with a claim than its list can hold, and the PodGroup that stood for them is gone:
// as many as there is room for become consumers, and when these have ended, the next. The devices
// go after the last (R17, F14, F19).
func TestReleaseOfManyRunning(t *testing.T) {
	w, err := claimstest.Parse("claim c allocated finalizer reserved=group/pg")
	if err != nil {
		t.Fatal(err)
	}
	const pods = 600
	running := map[string]*core.Pod{}
	for i := range pods {
		more, err := claimstest.Parse(fmt.Sprintf("pod p-%d group=pg node=n1 phase=Running claims=a:group/a status=a:c", i))
		if err != nil {
			t.Fatal(err)
		}
		running[more.Pods[0].Name] = more.Pods[0]
	}
	claim := w.Claims[0]
	group := claim.Status.ReservedFor[0].UID
	var counts []int
	for claim.Status.Allocation != nil {
		known := claims.Known{
			Pods:    running,
			Groups:  map[string]*scheduling.PodGroup{},
			Gone:    map[types.UID]bool{group: true},
			Current: true,
		}
		for _, ref := range claim.Status.ReservedFor {
			if _, ok := running[ref.Name]; !ok {
				known.Gone[ref.UID] = true
			}
		}
		for _, pod := range running {
			known.Users = append(known.Users, pod)
		}
		d := claims.Release(claim, known)
		if d.Deallocate && len(running) > 0 {
			t.Fatalf("deallocated while %d pods run", len(running))
		}
		if !d.StatusChanges() {
			t.Fatalf("stuck with %d consumers", len(claim.Status.ReservedFor))
		}
		claim.Status.ReservedFor = d.Reserved
		if d.Deallocate {
			claim.Status.Allocation = nil
		}
		counts = append(counts, len(d.Reserved))
		for _, ref := range d.Reserved {
			delete(running, ref.Name)
		}
	}
	if got := fmt.Sprint(counts); got != fmt.Sprint(
		[]int{256, 256, pods - 2*resourcev1.ResourceClaimReservedForMaxSize, 0},
	) {
		t.Errorf("consumers over time: %s", got)
	}
}

package cluster

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// ahead are claims that the State has in a version that the cache may have yet to show. What the cache shows of them before is
// over: a pod could be placed with devices that were taken off its claim. It belongs to the State's owner.
type ahead map[model.Key]version

type version struct {
	uid     types.UID
	version string
}

// over says whether a version of a claim is older than what the State has, and forgets those that the cache has reached.
func (a ahead) over(key model.Key, claim *resource.ResourceClaim) bool {
	newest, ok := a[key]
	if !ok {
		return false
	}
	if older(claim.ResourceVersion, newest.version) {
		return true
	}
	delete(a, key)
	return false
}

// gone forgets a claim that the cache shows to be gone.
func (a ahead) gone(key model.Key, uid types.UID) {
	if a[key].uid == uid {
		delete(a, key)
	}
}

// older compares resourceVersions. Those that cannot be compared are taken in as they come.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// Take lays a claim as a write has left it over the State, before the cache shows it, and says what that may help. It is to be
// called by the State's owner alone.
func (f *Feed) Take(s *model.State, claim *resource.ResourceClaim) []model.Topic {
	key := keyOf(claim)
	cached, ok := f.Claim(key)
	if !ok || cached.UID != claim.UID || older(claim.ResourceVersion, cached.ResourceVersion) {
		return nil // it has been seen to be gone, or to have changed since
	}
	f.ahead[key] = version{claim.UID, claim.ResourceVersion}
	return s.PutClaim(f.seen(claim))
}

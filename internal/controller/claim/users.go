package claim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

// usersSince returns the pods that may use the claim, as of the claim's version or later. The
// versions of pods and claims are comparable, because one etcd stores both. It does not wait for
// the cache of pods, which may take a minute if no pod changes.
func (c *Controller) usersSince(ctx context.Context, claim *resource.ResourceClaim) ([]*core.Pod, error) {
	version := number(claim.ResourceVersion)
	if reached := number(c.cache.Pods.Reached()); reached > 0 && reached >= version && !losesGroup(claim) {
		return c.podsOf(claim), nil
	}
	if losesGroup(claim) {
		version = 0
	}
	users, err := c.listed.users(claim, version, func() ([]*core.Pod, string, error) {
		return c.server.Live.LivePods(ctx, claim.Namespace)
	}, c.podGroups(claim.Namespace))
	if err != nil {
		return nil, fmt.Errorf("list the pods that name the claim: %w", err)
	}
	return users, nil
}

// podGroups returns the cached PodGroups of a namespace.
func (c *Controller) podGroups(namespace string) func(name string) (*scheduling.PodGroup, bool) {
	return func(name string) (*scheduling.PodGroup, bool) { return c.cache.Groups.Get(namespace, name) }
}

// losesGroup reports whether reservedFor is the only information that pods of a PodGroup may use
// the claim. After the PodGroup is removed from the list, pods that do not name the claim yet
// cannot be found, so that the current pods must be known before.
func losesGroup(claim *resource.ResourceClaim) bool {
	_, _, generated := claims.OwnerGroup(claim)
	return !generated && slices.ContainsFunc(claim.Status.ReservedFor, claims.IsGroupConsumer)
}

// listed is the last list of a namespace's pods from the API. Claims that are released together
// share it.
type listed struct {
	mu        sync.Mutex
	namespace string
	version   uint64                 // version of the list
	byKey     map[string][]*core.Pod // pods by the keys of claims.PodIndex
	byGroup   map[string][]*core.Pod // pods of the group
}

// users returns the pods that may use the claim. It lists the pods if the last list is of an
// earlier version, or version is 0.
func (l *listed) users(
	claim *resource.ResourceClaim, version uint64, list func() ([]*core.Pod, string, error),
	podGroup func(name string) (*scheduling.PodGroup, bool),
) ([]*core.Pod, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil || l.namespace != claim.Namespace || version == 0 || l.version < version {
		pods, of, err := list()
		if err != nil {
			return nil, err
		}
		l.namespace, l.version = claim.Namespace, number(of)
		l.byKey, l.byGroup = map[string][]*core.Pod{}, map[string][]*core.Pod{}
		for _, pod := range pods {
			for _, key := range claims.PodIndexKeys(pod) {
				l.byKey[key] = append(l.byKey[key], pod)
			}
			if group, member := claims.GroupName(pod); member {
				l.byGroup[group] = append(l.byGroup[group], pod)
			}
		}
	}
	return usersAmong(claim, podLists{
		byKey:    func(key string) []*core.Pod { return l.byKey[key] },
		ofGroup:  func(group string) []*core.Pod { return l.byGroup[group] },
		podGroup: podGroup,
	}), nil
}

// podLists are the pods of a namespace.
type podLists struct {
	byKey    func(key string) []*core.Pod // by the keys of claims.PodIndex
	ofGroup  func(group string) []*core.Pod
	podGroup func(name string) (*scheduling.PodGroup, bool)
}

// usersAmong returns the pods that name the claim, and those of its PodGroups, or of its tree, that
// may use it without naming it yet.
func usersAmong(claim *resource.ResourceClaim, lists podLists) []*core.Pod {
	users := slices.Clone(lists.byKey(claims.PodIndexKey(claim.Namespace, claim.Name)))
	add := func(group string) {
		for _, pod := range lists.ofGroup(group) {
			if claims.MayUse(pod, claim) && !slices.Contains(users, pod) {
				users = append(users, pod)
			}
		}
	}
	if key, ok := claims.TreeEntryKey(claim); ok {
		for _, pod := range lists.byKey(key) {
			name, _ := claims.GroupName(pod)
			group, _ := lists.podGroup(name)
			if claims.MayUseTree(pod, group, claim) && !slices.Contains(users, pod) {
				users = append(users, pod)
			}
		}
	}
	if name, _, ok := claims.OwnerGroup(claim); ok {
		add(name)
	}
	for _, ref := range claim.Status.ReservedFor {
		if claims.IsGroupConsumer(ref) {
			add(ref.Name)
		}
	}
	return users
}

// number returns a resource version as a number, or 0 if it is not a number.
func number(version string) uint64 {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/allot-dev/allot/internal/client"
)

// ErrNoDRA says that the server cannot allocate devices: allot has nothing to do there, and waits until it can.
var ErrNoDRA = errors.New("the server does not serve resource.k8s.io/v1: it needs Kubernetes 1.34 or later, with DRA on")

// Discovery is how a server is asked what it has; discovery.DiscoveryClient is one. Answers for a single group version
// are asked for, since others may be broken without harm.
type Discovery interface {
	ServerVersionWithContext(ctx context.Context) (*version.Info, error)
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// Survey is what a server has of what matters here.
type Survey struct {
	// Version is what the server calls itself; Minor the number of its release in 1.x.
	Version string
	Minor   int
	// Groups is the version in which it has PodGroups, the best one of client.GroupVersions; empty if none.
	Groups schema.GroupVersion
	// Workloads: it has Workloads in that version, too.
	Workloads bool
	// TaintRules is the version in which it has DeviceTaintRules, the best one of client.TaintRuleVersions; empty if none.
	TaintRules schema.GroupVersion
	// ClusterTemplates: it has ClusterResourceClaimTemplates of resource.k8s.io.
	ClusterTemplates bool
	// Policies is the version of MutatingAdmissionPolicies, empty if it has none.
	Policies string
	// CSINodes: it has those of storage.k8s.io/v1, and after Narrow, this process may read them.
	CSINodes bool
	// Services: this process may read them, after Narrow.
	Services bool
	// Refused are kinds that it has and that this process may not read, of those that can be done without.
	Refused []string
}

// required are the kinds of resource.k8s.io/v1 without which nothing works.
var required = []string{"resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices"}

// surveyor asks a server, each group version once.
type surveyor struct {
	server Discovery
	groups map[schema.GroupVersion]bool
	asked  map[schema.GroupVersion][]string
}

// Look asks the server what it has. Each question that gets no answer is an error.
func Look(ctx context.Context, server Discovery) (Survey, error) {
	var s Survey
	info, err := server.ServerVersionWithContext(ctx)
	if err != nil {
		return s, fmt.Errorf("ask for the server's version: %w", err)
	}
	s.Version, s.Minor = info.GitVersion, minor(info)
	list, err := server.ServerGroupsWithContext(ctx)
	if err != nil {
		return s, fmt.Errorf("ask for the server's API groups: %w", err)
	}
	l := surveyor{server: server, groups: versions(list), asked: map[schema.GroupVersion][]string{}}
	if err := l.devices(ctx, &s); err != nil {
		return s, err
	}
	if s.Groups, err = l.best(ctx, client.GroupVersions(), "podgroups"); err != nil {
		return s, err
	}
	if !s.Groups.Empty() {
		if s.Workloads, err = l.has(ctx, s.Groups, "workloads"); err != nil {
			return s, err
		}
	}
	if s.CSINodes, err = l.has(ctx, storagev1.SchemeGroupVersion, "csinodes"); err != nil {
		return s, err
	}
	if s.Services, err = l.has(ctx, corev1.SchemeGroupVersion, "services"); err != nil {
		return s, err
	}
	policies := []schema.GroupVersion{admission("v1"), admission("v1beta1"), admission("v1alpha1")}
	best, err := l.best(ctx, policies, "mutatingadmissionpolicies")
	s.Policies = best.Version
	return s, err
}

func admission(version string) schema.GroupVersion {
	return schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: version}
}

// devices looks at resource.k8s.io.
func (l *surveyor) devices(ctx context.Context, s *Survey) (err error) {
	if !l.groups[resourcev1.SchemeGroupVersion] {
		return ErrNoDRA
	}
	for _, kind := range required {
		switch has, err := l.has(ctx, resourcev1.SchemeGroupVersion, kind); {
		case err != nil:
			return err
		case !has:
			return fmt.Errorf("%w (it lacks %s)", ErrNoDRA, kind)
		}
	}
	if s.TaintRules, err = l.best(ctx, client.TaintRuleVersions(), "devicetaintrules"); err != nil {
		return err
	}
	s.ClusterTemplates, err = l.has(ctx, resourcev1alpha3.SchemeGroupVersion, "clusterresourceclaimtemplates")
	return err
}

// best is the first of some versions that has a kind.
func (l *surveyor) best(ctx context.Context, list []schema.GroupVersion, kind string) (schema.GroupVersion, error) {
	for _, gv := range list {
		if has, err := l.has(ctx, gv, kind); err != nil || has {
			return gv, err
		}
	}
	return schema.GroupVersion{}, nil
}

// has says whether the server has a kind. A version that it lists and does not answer for is an error: it may be there
// in a moment, and nothing is to be done as if it never were.
func (l *surveyor) has(ctx context.Context, gv schema.GroupVersion, kind string) (bool, error) {
	if !l.groups[gv] {
		return false, nil
	}
	names, asked := l.asked[gv]
	if !asked {
		list, err := l.server.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			return false, fmt.Errorf("the server lists %s and does not serve it (yet)", gv)
		}
		if err != nil {
			return false, fmt.Errorf("ask for the kinds of %s: %w", gv, err)
		}
		for i := range list.APIResources {
			names = append(names, list.APIResources[i].Name)
		}
		l.asked[gv] = names
	}
	return slices.Contains(names, kind), nil
}

func versions(list *metav1.APIGroupList) map[schema.GroupVersion]bool {
	out := map[schema.GroupVersion]bool{}
	for i := range list.Groups {
		for _, v := range list.Groups[i].Versions {
			out[schema.GroupVersion{Group: list.Groups[i].Name, Version: v.Version}] = true
		}
	}
	return out
}

// minor is 0 when the server does not say; some say "34+".
func minor(info *version.Info) int {
	n, err := strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	if err != nil {
		return 0
	}
	return n
}

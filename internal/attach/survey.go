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
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/allot-dev/allot/internal/client"
)

// ErrNoDRA means that the server does not support device allocation. allot waits until it does.
var ErrNoDRA = errors.New(
	"the server does not serve resource.k8s.io/v1: it needs Kubernetes 1.34 or later, with DRA on",
)

// Discovery is the part of discovery.DiscoveryClient that is needed. Group versions are queried one
// by one, because other groups may be unavailable without harm.
type Discovery interface {
	ServerVersionWithContext(ctx context.Context) (*version.Info, error)
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// Survey describes the relevant properties of a server.
type Survey struct {
	// Version is the version of the server; Minor is its minor version.
	Version string
	Minor   int
	// Groups is the version that serves PodGroups, the first match of client.GroupVersions; empty
	// if none.
	Groups schema.GroupVersion
	// Workloads is set if that version serves Workloads, too.
	Workloads bool
	// TaintRules is the version that serves DeviceTaintRules, the first match of
	// client.TaintRuleVersions; empty if none.
	TaintRules schema.GroupVersion
	// ClusterTemplates is set if ClusterResourceClaimTemplates of resource.k8s.io are served.
	ClusterTemplates bool
	// Composites is set if CompositePodGroups are served.
	Composites bool
	// Policies is the version of MutatingAdmissionPolicies; empty if none.
	Policies string
	// CSINodes is set if storage.k8s.io/v1 serves them and, after Narrow, if this process may read
	// them.
	CSINodes bool
	// Services is set, after Narrow, if this process may read them.
	Services bool
	// Refused lists optional kinds that the server serves but this process may not read.
	Refused []string
}

// required lists the required kinds of resource.k8s.io/v1.
var required = []string{"resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices"}

// surveyor queries each group version of a server once.
type surveyor struct {
	server Discovery
	groups map[schema.GroupVersion]bool
	served map[schema.GroupVersion][]string
}

// Look queries the server. A query without an answer is an error.
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
	l := surveyor{server: server, groups: versions(list), served: map[schema.GroupVersion][]string{}}
	if err := l.devices(ctx, &s); err != nil {
		return s, err
	}
	if s.Groups, err = l.firstServed(ctx, client.GroupVersions(), "podgroups"); err != nil {
		return s, err
	}
	if !s.Groups.Empty() {
		if s.Workloads, err = l.serves(ctx, s.Groups, "workloads"); err != nil {
			return s, err
		}
	}
	if s.CSINodes, err = l.serves(ctx, storagev1.SchemeGroupVersion, "csinodes"); err != nil {
		return s, err
	}
	if s.Services, err = l.serves(ctx, corev1.SchemeGroupVersion, "services"); err != nil {
		return s, err
	}
	policies := []schema.GroupVersion{admission("v1"), admission("v1beta1"), admission("v1alpha1")}
	best, err := l.firstServed(ctx, policies, "mutatingadmissionpolicies")
	s.Policies = best.Version
	return s, err
}

func admission(version string) schema.GroupVersion {
	return schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: version}
}

// devices queries resource.k8s.io.
func (sv *surveyor) devices(ctx context.Context, s *Survey) (err error) {
	if !sv.groups[resourcev1.SchemeGroupVersion] {
		return ErrNoDRA
	}
	for _, kind := range required {
		switch has, err := sv.serves(ctx, resourcev1.SchemeGroupVersion, kind); {
		case err != nil:
			return err
		case !has:
			return fmt.Errorf("%w (it lacks %s)", ErrNoDRA, kind)
		}
	}
	if s.TaintRules, err = sv.firstServed(ctx, client.TaintRuleVersions(), "devicetaintrules"); err != nil {
		return err
	}
	s.ClusterTemplates, err = sv.serves(ctx, resourcev1alpha3.SchemeGroupVersion, "clusterresourceclaimtemplates")
	if err != nil {
		return err
	}
	s.Composites, err = sv.serves(ctx, schedulingv1alpha3.SchemeGroupVersion, "compositepodgroups")
	return err
}

// firstServed returns the first version that serves a kind.
func (sv *surveyor) firstServed(
	ctx context.Context, list []schema.GroupVersion, kind string,
) (schema.GroupVersion, error) {
	for _, gv := range list {
		if has, err := sv.serves(ctx, gv, kind); err != nil || has {
			return gv, err
		}
	}
	return schema.GroupVersion{}, nil
}

// serves reports whether the server serves a kind. A version that is listed but unavailable is an
// error: it may become available at any time.
func (sv *surveyor) serves(ctx context.Context, gv schema.GroupVersion, kind string) (bool, error) {
	if !sv.groups[gv] {
		return false, nil
	}
	names, asked := sv.served[gv]
	if !asked {
		list, err := sv.server.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			return false, fmt.Errorf("the server lists %s and does not serve it (yet)", gv)
		}
		if err != nil {
			return false, fmt.Errorf("ask for the kinds of %s: %w", gv, err)
		}
		for i := range list.APIResources {
			names = append(names, list.APIResources[i].Name)
		}
		sv.served[gv] = names
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

// minor returns the minor version, or 0 if it is unknown; some servers report "34+".
func minor(info *version.Info) int {
	n, err := strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	if err != nil {
		return 0
	}
	return n
}

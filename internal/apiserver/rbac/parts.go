package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// part is a component of the control plane that is a user of the API, with its role.
type part struct {
	role     string
	subjects []rbacv1.Subject
	rules    []rbacv1.PolicyRule
}

const (
	controllerPrefix = "system:controller:"
	// FleetUser is the user of a fleet of simulated nodes: all nodes and their drivers in one.
	FleetUser = "allot:simulated-fleet"
)

// partRoles returns the roles of the components, of nodes, and of drivers.
func partRoles() []rbacv1.ClusterRole {
	var out []rbacv1.ClusterRole
	for _, p := range parts() {
		out = append(out, role(p.role, p.rules...))
	}
	return append(out, role("system:node", nodeRules()...), role("system:dra-driver", driverRules()...))
}

func parts() []part {
	return slices.Concat([]part{
		{"system:kube-scheduler", userSubjects(user.KubeScheduler), schedulerRules()},
		{"system:kube-controller-manager", userSubjects(user.KubeControllerManager), managerRules()},
		{FleetUser, userSubjects(FleetUser), append(fleetRules(), eventRules()...)},
	}, claimControllers(), workloadControllers(), collectors(), certificateControllers())
}

func userSubjects(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}
}

// managerRules returns the rules for what all controllers of a process share.
func managerRules() []rbacv1.PolicyRule {
	return slices.Concat(
		eventRules(),
		leaderRules("kube-controller-manager allot-controller-manager"),
		[]rbacv1.PolicyRule{
			allow("list watch", "*", "*"),
			allow("create", groupAuthentication, "tokenreviews"),
			allow("create", groupAuthorization, "subjectaccessreviews"),
			allow("create", "", "serviceaccounts serviceaccounts/token"),
		},
	)
}

// controller returns a component with its own service account. A process that runs all controllers
// as one user has its role too.
func controller(name string, rules ...rbacv1.PolicyRule) part {
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}
	return part{
		controllerPrefix + name,
		append(userSubjects(user.KubeControllerManager), account),
		append(rules, eventRules()...),
	}
}

func eventRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create patch update", "", "events"),
		allow("create patch update", groupEvents, "events"),
	}
}

// leaderRules returns the rules that leader election by leases with these names requires.
func leaderRules(leases string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create", groupCoordination, "leases"),
		allowNamed("get update patch list watch", groupCoordination, "leases", leases),
	}
}

func schedulerRules() []rbacv1.PolicyRule {
	return slices.Concat(eventRules(), leaderRules("kube-scheduler allot-scheduler"), []rbacv1.PolicyRule{
		allow("get list watch delete", "", "pods"),
		allow("create", "", "bindings pods/binding pods/eviction"),
		allow("update patch", "", "pods/status"),
		allow("create", groupPlacement, "placements"),
		allow(read, "", "nodes namespaces services persistentvolumeclaims persistentvolumes"),
		allow(read, "apps", "replicasets statefulsets"),
		allow(read, "policy", "poddisruptionbudgets"),
		allow(read, groupStorage, "storageclasses csinodes csidrivers csistoragecapacities volumeattachments"),
		allow(read, groupResource,
			"deviceclasses resourceslices devicetaintrules resourceclaimtemplates clusterresourceclaimtemplates"),
		allow("get list watch update patch create delete", groupResource, "resourceclaims"),
		allow("get update patch", groupResource, "resourceclaims/status"),
		// Since 1.36, changing an allocation or its consumers requires this permission too.
		allow("update patch", groupResource, "resourceclaims/"+resourcev1.SubresourceBinding),
		allow(read, groupScheduling, "podgroups compositepodgroups workloads priorityclasses"),
		allow("update patch", groupScheduling, "podgroups/status compositepodgroups/status"),
		allow("create", groupAuthentication, "tokenreviews"),
		allow("create", groupAuthorization, "subjectaccessreviews"),
	})
}

func claimControllers() []part {
	return []part{
		controller("resource-claim-controller",
			allow(read, "", "pods"),
			allow("update patch", "", "pods/status"),
			allow("update", "", "pods/finalizers"),
			allow("get list watch create update patch delete", groupResource, "resourceclaims"),
			allow("update patch", groupResource, "resourceclaims/status resourceclaims/"+resourcev1.SubresourceBinding),
			allow(read, groupResource, "resourceclaimtemplates clusterresourceclaimtemplates"),
			allow(read, groupScheduling, "podgroups compositepodgroups workloads"),
			allow("update patch", groupScheduling, "podgroups/status compositepodgroups/status"),
			// Other consumers are read to determine whether they exist; kinds that cannot be read
			// are skipped.
			allow("get", "apps", "*"), allow("get", "batch", "*"),
		),
		controller("podgroup-protection-controller",
			allow("get list watch update patch", groupScheduling, "podgroups"),
			allow(read, "", "pods"),
		),
		controller("device-taint-eviction-controller",
			allow("get list watch delete", "", "pods"),
			allow("update patch", "", "pods/status"),
			allow("create", "", "pods/eviction"),
			allow(read, groupResource, "resourceclaims resourceslices deviceclasses devicetaintrules"),
			allow("update patch", groupResource, "devicetaintrules/status"),
			allow(read, groupScheduling, "podgroups"),
		),
		controller("resourcepoolstatusrequest-controller",
			allow("get list watch delete", groupResource, "resourcepoolstatusrequests"),
			allow("update patch", groupResource, "resourcepoolstatusrequests/status"),
			allow(read, groupResource, "resourceslices resourceclaims devicetaintrules"),
		),
		controller("cluster-resource-claim-template-controller",
			allow(read, "", "namespaces"),
			allow("get list watch create update patch delete", groupResource, "resourceclaimtemplates"),
			allow(read, groupResource, "clusterresourceclaimtemplates"),
		),
	}
}

func workloadControllers() []part {
	const pods = "get list watch create update patch delete"
	owner := func(kind string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			allow("get list watch update patch", "apps", kind),
			allow("update patch", "apps", kind+"/status"),
			allow("update", "apps", kind+"/finalizers"),
			allow(pods, "apps", "controllerrevisions"),
			allow(pods, "", "pods"),
			allow("update patch", "", "pods/status"),
		}
	}
	return []part{
		controller("deployment-controller",
			allow("get list watch update patch", "apps", "deployments"),
			allow("update patch", "apps", "deployments/status"),
			allow("update", "apps", "deployments/finalizers"),
			allow(pods, "apps", "replicasets"),
			allow(read, "", "pods"),
		),
		controller("replicaset-controller", owner("replicasets")...),
		controller("statefulset-controller", append(owner("statefulsets"),
			allow("get list watch create update patch delete", "", "persistentvolumeclaims"))...),
		controller("daemon-set-controller", append(owner("daemonsets"), allow(read, "", "nodes"))...),
		controller("job-controller",
			allow("get list watch update patch delete", "batch", "jobs"),
			allow("update patch", "batch", "jobs/status"),
			allow("update", "batch", "jobs/finalizers"),
			allow(pods, "", "pods"),
			allow("update patch", "", "pods/status"),
			allow(pods, groupScheduling, "workloads podgroups"),
		),
		controller("replication-controller",
			allow("get list watch update patch", "", "replicationcontrollers"),
			allow("update patch", "", "replicationcontrollers/status"),
			allow("update", "", "replicationcontrollers/finalizers"),
			allow(pods, "", "pods"),
		),
		controller("cronjob-controller",
			allow("get list watch update", "batch", "cronjobs"),
			allow("update", "batch", "cronjobs/status cronjobs/finalizers"),
			allow("get list watch create update patch delete", "batch", "jobs"),
			allow("list delete", "", "pods"),
		),
		controller("taint-eviction-controller",
			allow("get list watch delete", "", "pods"),
			allow("update patch", "", "pods/status"),
			allow(read, "", "nodes"),
		),
		controller("node-controller",
			allow("get list watch update patch", "", "nodes"),
			allow("update patch", "", "nodes/status pods/status"),
			allow("get list watch", "", "pods"),
			allow("get", "", "namespaces"),
			allow(read, groupCoordination, "leases"),
		),
		controller("ttl-after-finished-controller", allow("get list watch delete", "batch", "jobs")),
		controller("endpoint-controller",
			allow(read, "", "services pods nodes"),
			allow("get list create update delete", "", "endpoints"),
			allow("create", "", "endpoints/restricted"),
		),
		controller("endpointslice-controller",
			allow(read, "", "services pods nodes"),
			allow("update", "", "services/finalizers"),
			allow("get list watch create update delete", "discovery.k8s.io", "endpointslices"),
			allow("create", "discovery.k8s.io", "endpointslices/restricted"),
		),
		controller("endpointslicemirroring-controller",
			allow(read, "", "services endpoints"),
			allow("update", "", "services/finalizers endpoints/finalizers"),
			allow("get list watch create update delete", "discovery.k8s.io", "endpointslices"),
			allow("create", "discovery.k8s.io", "endpointslices/restricted"),
		),
		controller("disruption-controller",
			allow(read, "", "pods"),
			allow("update patch", "", "pods/status"),
			allow(read, "policy", "poddisruptionbudgets"),
			allow("update patch", "policy", "poddisruptionbudgets/status"),
			allow("get", "*", "*/scale"),
			allow("get list watch", "apps", "deployments replicasets statefulsets daemonsets"),
			allow("get list watch", "batch", "jobs"),
		),
	}
}

// collectors returns the controllers that delete objects of every kind.
func collectors() []part {
	return []part{
		controller("generic-garbage-collector", allow("get list watch patch update delete", "*", "*")),
		controller("namespace-controller",
			allow("get list watch delete deletecollection", "*", "*"),
			allow("update patch", "", "namespaces/finalize namespaces/status"),
		),
		controller("service-account-controller", allow(read+" create", "", "serviceaccounts"), allow(read, "", "namespaces")),
		controller("root-ca-cert-publisher", allow(read+" create update", "", "configmaps"), allow(read, "", "namespaces")),
		controller("resourcequota-controller",
			allow("list watch", "*", "*"),
			allow("get list watch", "", "resourcequotas"),
			allow("update", "", "resourcequotas/status"),
		),
		controller("pod-garbage-collector",
			allow("get list watch delete", "", "pods"),
			allow("update patch", "", "pods/status"),
			allow(read, "", "nodes"),
		),
	}
}

// fleetRules returns the rules for simulated machines: all nodes and their drivers in one.
func fleetRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("get list watch create update patch delete", "", "nodes"),
		allow("update patch", "", "nodes/status"),
		allow("get list watch delete", "", "pods"),
		allow("update patch", "", "pods/status"),
		allow("get create update patch", groupCoordination, "leases"),
		allow("get list watch create update patch delete", groupResource, "resourceslices"),
		allow(read, groupResource, "resourceclaims deviceclasses"),
		allow("update patch", groupResource, "resourceclaims/status"),
		allow(resourcev1.VerbPrefixArbitraryNode+"update "+resourcev1.VerbPrefixArbitraryNode+"patch", groupResource,
			"resourceclaims/"+resourcev1.SubresourceDriver),
		allow(read, groupScheduling, "podgroups"),
	}
}

// nodeRules returns the rules for kubelets, for kinds that are not divided by node. Package
// noderights has the others.
func nodeRules() []rbacv1.PolicyRule {
	return append(eventRules(),
		allow(read, "", "services"),
		allow(read, groupStorage, "csidrivers"),
		allow(read, "node.k8s.io", "runtimeclasses"),
		allow("create "+read, groupCertificates, signingRequests), // a kubelet renews its certificates
		allow("create", groupAuthentication, "tokenreviews"),
		allow("create", groupAuthorization, "subjectaccessreviews localsubjectaccessreviews"),
	)
}

// NodesMay reports whether a request is allowed by the rules for all nodes.
func NodesMay(a authorizer.Attributes) bool {
	r := requestOf(a)
	return slices.ContainsFunc(nodeRules(), func(rule rbacv1.PolicyRule) bool { return allows(&rule, &r) })
}

// driverRules returns the rules for drivers on nodes. Their service accounts can be bound to the
// role; initially there are none. A driver may report on devices of its own node; a narrower role
// can have the name of one driver as resource name.
func driverRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("get", "", "nodes"),
		allow("get list watch create update patch delete", groupResource, "resourceslices"),
		allow("get", groupResource, "resourceclaims"),
		allow("update patch", groupResource, "resourceclaims/status"),
		allow(resourcev1.VerbPrefixAssociatedNode+"update "+resourcev1.VerbPrefixAssociatedNode+"patch", groupResource,
			"resourceclaims/"+resourcev1.SubresourceDriver),
	}
}

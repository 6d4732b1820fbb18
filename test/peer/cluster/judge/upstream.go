package judge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/api/testing" // installs all types
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	ns "k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/compositepodgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
)

// upstreamGates are the gates for what allot serves by default and 1.37 does not.
var upstreamGates = []string{
	"GenericWorkload", "CompositePodGroup", "DRAWorkloadResourceClaims", "WorkloadWithJob",
	"TopologyAwareWorkloadScheduling", "PodGroupPreemptionPolicy",
	"DRAConsumableCapacity", "DRADerivedAttributes", "DRADeviceBindingConditions", "DRADeviceCompatibilityGroups",
	"DRAFractionalCapacityRange", "DRAListTypeAttributes", "DRANodeAllocatableResources", "DRAOptionalNodeOperations",
	"DRAPartitionableDevices", "DRAPartitionableDevicesType", "DRAResourcePoolStatus",
}

// anyUser is a user that may do everything.
type anyUser struct{}

func (anyUser) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// Upstream returns Kubernetes' API server, with the gates for allot's features.
func Upstream() (*Server, error) {
	on := map[string]bool{}
	for _, gate := range upstreamGates {
		on[gate] = true
	}
	capabilities.Setup(true, 0) // as with --allow-privileged
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(on); err != nil {
		return nil, err
	}
	admin := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name:   namespace,
			Labels: map[string]string{"resource.kubernetes.io/admin-access": "true"},
		},
	}
	namespaces := fake.NewClientset(admin).CoreV1().Namespaces()
	claims := resourceclaim.NewStrategy(namespaces, anyUser{})
	groups, composites := podgroup.NewStrategy(), compositepodgroup.NewStrategy()
	// Without an authorizer, everybody may read the parameters of policies.
	var params resolver.ResourceResolverFunc // is not called without one
	validatingPolicies, mutatingPolicies := validatingadmissionpolicy.NewStrategy(
		nil, params,
	), mutatingadmissionpolicy.NewStrategy(nil, params)
	validatingBindings := validatingadmissionpolicybinding.NewStrategy(nil, nil, params)
	mutatingBindings := mutatingadmissionpolicybinding.NewStrategy(nil, nil, params)
	rules := map[schema.GroupResource]Rules{
		{Resource: "configmaps"}:  {configmap.Strategy, configmap.Strategy, nil},
		{Resource: "endpoints"}:   {endpoint.Strategy, endpoint.Strategy, nil},
		{Resource: "events"}:      {event.Strategy, event.Strategy, nil},
		{Resource: "limitranges"}: {limitrange.Strategy, limitrange.Strategy, nil},
		{Resource: "namespaces"}:  {ns.Strategy, ns.Strategy, ns.StatusStrategy},
		{Resource: "nodes"}:       {node.Strategy, node.Strategy, node.StatusStrategy},
		{Resource: "persistentvolumes"}: {
			persistentvolume.Strategy,
			persistentvolume.Strategy,
			persistentvolume.StatusStrategy,
		},
		{Resource: "persistentvolumeclaims"}: {
			persistentvolumeclaim.Strategy,
			persistentvolumeclaim.Strategy,
			persistentvolumeclaim.StatusStrategy,
		},
		{Resource: "pods"}:         {pod.Strategy, pod.Strategy, pod.StatusStrategy},
		{Resource: "podtemplates"}: {podtemplate.Strategy, podtemplate.Strategy, nil},
		{Resource: "replicationcontrollers"}: {
			replicationcontroller.Strategy, replicationcontroller.Strategy, replicationcontroller.StatusStrategy,
		},
		{Resource: "resourcequotas"}: {resourcequota.Strategy, resourcequota.Strategy, resourcequota.StatusStrategy},
		{Resource: "secrets"}:        {secret.Strategy, secret.Strategy, nil},
		{Resource: "services"}: {
			newServices{service.Strategy},
			changedServices{service.Strategy},
			service.StatusStrategy,
		},
		{Resource: "serviceaccounts"}: {serviceaccount.Strategy, serviceaccount.Strategy, nil},

		{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}: {
			mutatingwebhookconfiguration.Strategy, mutatingwebhookconfiguration.Strategy, nil,
		},
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: {
			validatingwebhookconfiguration.Strategy, validatingwebhookconfiguration.Strategy, nil,
		},
		{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}: {
			validatingPolicies, validatingPolicies, validatingadmissionpolicy.NewStatusStrategy(validatingPolicies),
		},
		{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}: {
			mutatingPolicies,
			mutatingPolicies,
			nil,
		},
		{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"}: {
			validatingBindings,
			validatingBindings,
			nil,
		},
		{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}: {
			mutatingBindings,
			mutatingBindings,
			nil,
		},

		{Group: "apps", Resource: "controllerrevisions"}: {controllerrevision.Strategy, controllerrevision.Strategy, nil},
		{Group: "apps", Resource: "daemonsets"}: {
			daemonset.Strategy,
			daemonset.Strategy,
			daemonset.StatusStrategy,
		},
		{Group: "apps", Resource: "deployments"}: {
			deployment.Strategy,
			deployment.Strategy,
			deployment.StatusStrategy,
		},
		{Group: "apps", Resource: "replicasets"}: {
			replicaset.Strategy,
			replicaset.Strategy,
			replicaset.StatusStrategy,
		},
		{Group: "apps", Resource: "statefulsets"}: {
			statefulset.Strategy,
			statefulset.Strategy,
			statefulset.StatusStrategy,
		},
		{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: {
			horizontalpodautoscaler.Strategy, horizontalpodautoscaler.Strategy, horizontalpodautoscaler.StatusStrategy,
		},
		{Group: "batch", Resource: "cronjobs"}: {cronjob.Strategy, cronjob.Strategy, cronjob.StatusStrategy},
		{Group: "batch", Resource: "jobs"}:     {job.Strategy, job.Strategy, job.StatusStrategy},
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {
			certificates.Strategy, certificates.Strategy, certificates.StatusStrategy,
		},
		{Group: "coordination.k8s.io", Resource: "leases"}:      {lease.Strategy, lease.Strategy, nil},
		{Group: "events.k8s.io", Resource: "events"}:            {event.Strategy, event.Strategy, nil},
		{Group: "discovery.k8s.io", Resource: "endpointslices"}: {endpointslice.Strategy, endpointslice.Strategy, nil},
		{Group: "networking.k8s.io", Resource: "ipaddresses"}:   {ipaddress.Strategy, ipaddress.Strategy, nil},
		{Group: "networking.k8s.io", Resource: "ingresses"}: {
			ingress.Strategy, ingress.Strategy, ingress.StatusStrategy,
		},
		{Group: "networking.k8s.io", Resource: "ingressclasses"}:  {ingressclass.Strategy, ingressclass.Strategy, nil},
		{Group: "networking.k8s.io", Resource: "networkpolicies"}: {networkpolicy.Strategy, networkpolicy.Strategy, nil},
		{Group: "node.k8s.io", Resource: "runtimeclasses"}:        {runtimeclass.Strategy, runtimeclass.Strategy, nil},
		{Group: "policy", Resource: "poddisruptionbudgets"}: {
			poddisruptionbudget.Strategy, poddisruptionbudget.Strategy, poddisruptionbudget.StatusStrategy,
		},
		{Group: "rbac.authorization.k8s.io", Resource: "roles"}: {role.Strategy, role.Strategy, nil},
		{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}: {
			rolebinding.Strategy,
			rolebinding.Strategy,
			nil,
		},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}: {
			clusterrole.Strategy,
			clusterrole.Strategy,
			nil,
		},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: {
			clusterrolebinding.Strategy,
			clusterrolebinding.Strategy,
			nil,
		},

		{Group: "resource.k8s.io", Resource: "deviceclasses"}: {deviceclass.Strategy, deviceclass.Strategy, nil},
		{Group: "resource.k8s.io", Resource: "devicetaintrules"}: {
			devicetaintrule.Strategy,
			devicetaintrule.Strategy,
			devicetaintrule.StatusStrategy,
		},
		{Group: "resource.k8s.io", Resource: "resourceclaims"}: {claims, claims, resourceclaim.NewStatusStrategy(claims)},
		{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}: {
			resourceclaimtemplate.NewStrategy(namespaces), resourceclaimtemplate.NewStrategy(namespaces), nil,
		},
		{Group: "resource.k8s.io", Resource: "resourcepoolstatusrequests"}: {
			resourcepoolstatusrequest.Strategy, resourcepoolstatusrequest.Strategy, resourcepoolstatusrequest.StatusStrategy,
		},
		{Group: "resource.k8s.io", Resource: "resourceslices"}: {resourceslice.Strategy, resourceslice.Strategy, nil},
		{Group: "scheduling.k8s.io", Resource: "compositepodgroups"}: {
			composites, composites, compositepodgroup.NewStatusStrategy(composites),
		},
		{Group: "scheduling.k8s.io", Resource: "podgroups"}:       {groups, groups, podgroup.NewStatusStrategy(groups)},
		{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: {priorityclass.Strategy, priorityclass.Strategy, nil},
		{Group: "scheduling.k8s.io", Resource: "workloads"}:       {workload.Strategy, workload.Strategy, nil},

		{Group: "storage.k8s.io", Resource: "csidrivers"}: {csidriver.Strategy, csidriver.Strategy, nil},
		{Group: "storage.k8s.io", Resource: "csinodes"}:   {csinode.Strategy, csinode.Strategy, csinode.StatusStrategy},
		{Group: "storage.k8s.io", Resource: "csistoragecapacities"}: {
			csistoragecapacity.Strategy, csistoragecapacity.Strategy, nil,
		},
		{Group: "storage.k8s.io", Resource: "storageclasses"}: {storageclass.Strategy, storageclass.Strategy, nil},
		{Group: "storage.k8s.io", Resource: "volumeattachments"}: {
			volumeattachment.Strategy, volumeattachment.Strategy, volumeattachment.StatusStrategy,
		},
	}
	table := printers.NewTableGenerator().With(internalversion.AddHandlers)
	return &Server{
		Name: "Kubernetes", Scheme: legacyscheme.Scheme, Codecs: legacyscheme.Codecs, Rules: rules,
		Table: func(_ schema.GroupVersionKind, obj runtime.Object) (*metav1.Table, error) {
			t, err := table.GenerateTable(obj, printers.GenerateOptions{Wide: true})
			if err != nil { // a kind without columns of its own
				return rest.NewDefaultTableConvertor(schema.GroupResource{}).ConvertToTable(context.Background(), obj, nil)
			}
			return t, nil
		},
	}, nil
}

package snapshot

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// renamer replaces names in objects that were decoded from JSON, by the fields in which they are.
type renamer struct{ names Pseudonyms }

// nameFields are fields with the name of an object, with its kind.
var nameFields = map[string]string{
	"nodeName": "node", "nominatedNodeName": "node",
	"namespace": "namespace", "deviceClassName": "deviceclass", "priorityClassName": "priorityclass",
	"claimName": "persistentvolumeclaim", "volumeName": "persistentvolume", "storageClassName": "storageclass",
	"resourceClaimName": "resourceclaim", "resourceClaimTemplateName": "resourceclaimtemplate",
	"clusterResourceClaimTemplateName": "clusterresourceclaimtemplate",
	"parentCompositePodGroupName":      "compositepodgroup",
	"podGroupName":                     "podgroup", "workloadName": "workload", "podGroupTemplateName": "podgrouptemplate",
	"serviceName": "service", "image": "image", "volumeHandle": "volumehandle",
}

// referenceFields are fields with a reference to an object: its name, and the field with its kind,
// or that kind.
var referenceFields = map[string]struct{ kindField, kind string }{
	"ownerReferences": {kindField: "kind"}, "involvedObject": {kindField: "kind"}, "related": {kindField: "kind"},
	"reservedFor": {kindField: "resource"}, "claimRef": {kind: "persistentvolumeclaim"},
}

// droppedFields are fields that decide nothing and may tell something about a cluster or its users.
var droppedFields = map[string]bool{
	"annotations": true, "generateName": true, "message": true, "note": true, "host": true, "reportingInstance": true,
	"serviceAccountName": true, "serviceAccount": true, "hostname": true, "subdomain": true, "setHostnameAsFQDN": true,
	"providerID": true, "podCIDR": true, "podCIDRs": true, "volumesAttached": true, "volumesInUse": true, "nodeID": true,
	"parameters": true, "data": true, "networkData": true, "containerID": true, "imageID": true, "description": true,
	"dataSource": true, "dataSourceRef": true,
}

// object renames one object of a list.
func (r *renamer) object(kind string, object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	if name, ok := meta["name"].(string); ok {
		meta["name"] = r.names.Of(kind, name)
	}
	annotations := meta["annotations"]
	r.fields(object)
	if kept := keptAnnotations(annotations); len(kept) > 0 {
		meta["annotations"] = kept
	}
}

// keptAnnotations returns the annotations that decide which claim an entry of a pod or PodGroup
// means.
func keptAnnotations(annotations any) map[string]any {
	all, _ := annotations.(map[string]any)
	kept := map[string]any{}
	for _, key := range []string{"resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/podgroup-claim-name"} {
		if value, ok := all[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// fields renames what is in the fields of an object.
func (r *renamer) fields(object map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(object)) {
		switch {
		case droppedFields[field]:
			delete(object, field)
		case !r.field(object, field):
			r.value(object[field])
		}
	}
}

func (r *renamer) value(value any) {
	switch v := value.(type) {
	case map[string]any:
		r.fields(v)
	case []any:
		for _, item := range v {
			r.value(item)
		}
	}
}

// field renames one field of an object, and reports whether there is nothing left to do in it.
func (r *renamer) field(object map[string]any, field string) bool {
	value := object[field]
	text, isText := value.(string)
	if kind, isName := nameFields[field]; isName && isText {
		object[field] = r.names.Of(kind, text)
		return true
	}
	if reference, isReference := referenceFields[field]; isReference {
		r.reference(value, reference.kindField, reference.kind)
		return false
	}
	switch field {
	case "labels", "matchLabels", "nodeSelector", "selector":
		pairs, ok := value.(map[string]any)
		if !ok || !isFlat(pairs) {
			return false
		}
		object[field] = r.labels(pairs)
		return true
	case "topologyKey", "key":
		if isText {
			object[field] = r.labelKey(text)
		}
		r.values(object)
		return isText
	case "pool":
		r.pool(object, value)
		return false
	case "hard", "used":
		if amounts, ok := value.(map[string]any); ok {
			object[field] = r.quota(amounts)
		}
		return true
	}
	return r.list(field, value)
}

// list renames the items of a list of names, and reports whether the field is one.
func (r *renamer) list(field string, value any) bool {
	switch field {
	case "matchFields":
		r.nodeNames(value)
	case "matchLabelKeys", "mismatchLabelKeys":
		r.each(value, r.labelKey)
	case "namespaces": // of a term of pod affinity
		r.each(value, func(name string) string { return r.names.Of("namespace", name) })
	case "names": // of an image on a node
		r.each(value, func(name string) string { return r.names.Of("image", name) })
	default:
		return false
	}
	return true
}

// reference renames references to objects, one or a list.
func (r *renamer) reference(value any, kindField, kind string) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, item := range list {
		ref, ok := item.(map[string]any)
		if !ok {
			continue
		}
		of := kind
		if named, ok := ref[kindField].(string); ok {
			of = kindOfList(named)
		}
		if name, ok := ref["name"].(string); ok {
			ref["name"] = r.names.Of(of, name)
		}
	}
}

// isFlat reports whether all values are text.
func isFlat(pairs map[string]any) bool {
	for _, value := range pairs {
		if _, ok := value.(string); !ok {
			return false
		}
	}
	return true
}

func (r *renamer) labels(pairs map[string]any) map[string]any {
	renamed := make(map[string]any, len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		text, _ := pairs[key].(string)
		renamed[r.labelKey(key)] = r.labelValue(key, text)
	}
	return renamed
}

// labelKey returns the pseudonym of a key of labels or taints. Keys of Kubernetes itself stay.
func (r *renamer) labelKey(key string) string {
	prefix, _, qualified := strings.Cut(key, "/")
	if qualified && (strings.HasSuffix(prefix, "kubernetes.io") || strings.HasSuffix(prefix, "k8s.io")) ||
		key == "metadata.name" {
		return key
	}
	return r.names.Of("key", key)
}

// labelValue returns the pseudonym of a value. Names of nodes are those of the nodes; operating
// systems, architectures, numbers and truth values stay.
func (r *renamer) labelValue(key, value string) string {
	if key == "kubernetes.io/os" || key == "kubernetes.io/arch" || value == "true" || value == "false" {
		return value
	}
	if _, err := resource.ParseQuantity(value); err == nil {
		return value
	}
	if node, ok := r.names["node"][value]; ok {
		return node
	}
	return r.names.Of("value", value)
}

// values renames the values that belong to a key: of a requirement, a taint or a toleration.
func (r *renamer) values(object map[string]any) {
	key, _ := object["key"].(string)
	if value, ok := object["value"].(string); ok {
		object["value"] = r.labelValue(key, value)
	}
	r.each(object["values"], func(value string) string { return r.labelValue(key, value) })
}

// nodeNames renames the values of requirements on the names of nodes.
func (r *renamer) nodeNames(value any) {
	list, _ := value.([]any)
	for _, item := range list {
		if requirement, ok := item.(map[string]any); ok {
			r.each(requirement["values"], func(name string) string { return r.names.Of("node", name) })
		}
	}
}

// pool renames a pool: a name, or that of the pool of a slice. A pool that is named after a node
// has the name of the node.
func (r *renamer) pool(object map[string]any, value any) {
	rename := func(name string) string {
		if node, ok := r.names["node"][name]; ok {
			return node
		}
		return r.names.Of("pool", name)
	}
	switch v := value.(type) {
	case string:
		object["pool"] = rename(v)
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			v["name"] = rename(name)
		}
	}
}

// quota renames the DeviceClasses in the resources of a quota.
func (r *renamer) quota(amounts map[string]any) map[string]any {
	renamed := make(map[string]any, len(amounts))
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		class, of := strings.CutSuffix(name, ".deviceclass.resource.k8s.io/devices")
		if of {
			renamed[r.names.Of("deviceclass", class)+".deviceclass.resource.k8s.io/devices"] = amounts[name]
			continue
		}
		renamed[name] = amounts[name]
	}
	return renamed
}

// each replaces the texts of a list.
func (r *renamer) each(value any, rename func(string) string) {
	list, _ := value.([]any)
	for i, item := range list {
		if text, ok := item.(string); ok {
			list[i] = rename(text)
		}
	}
}

package cli

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// set is a set of keys that manifests provide for other manifests.
type set map[string]bool

func kindKey(gk schema.GroupKind) string { return "kind " + gk.String() }

// namespaceKey and priorityKey return "" for an empty name, which is in no set.
func namespaceKey(name string) string { return prefixed("namespace ", name) }
func priorityKey(name string) string  { return prefixed("priority ", name) }

func prefixed(prefix, name string) string {
	if name == "" {
		return ""
	}
	return prefix + name
}

// inOrder returns first the manifests that others depend on: namespaces, then
// CustomResourceDefinitions, then priority classes.
func inOrder(manifests []Manifest) (first, rest []Manifest) {
	for _, is := range []func(*unstructured.Unstructured) bool{isNamespace, isDefinition, isPriorityClass} {
		for _, m := range manifests {
			if is(m.Object) {
				first = append(first, m)
			}
		}
	}
	for _, m := range manifests {
		if !isNamespace(m.Object) && !isDefinition(m.Object) && !isPriorityClass(m.Object) {
			rest = append(rest, m)
		}
	}
	return first, rest
}

// InOrder returns the manifests in the order in which Apply applies them.
func InOrder(manifests []Manifest) []Manifest {
	first, rest := inOrder(manifests)
	return append(first, rest...)
}

func isKind(obj *unstructured.Unstructured, group, name string) bool {
	gvk := obj.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == name
}

func isNamespace(obj *unstructured.Unstructured) bool { return isKind(obj, "", "Namespace") }

func isDefinition(obj *unstructured.Unstructured) bool {
	return isKind(obj, "apiextensions.k8s.io", "CustomResourceDefinition")
}

func isPriorityClass(obj *unstructured.Unstructured) bool {
	return isKind(obj, "scheduling.k8s.io", "PriorityClass")
}

// provides returns the keys that the manifests provide for other manifests.
func provides(manifests []Manifest) set {
	out := set{}
	for _, m := range manifests {
		switch {
		case isNamespace(m.Object):
			out[namespaceKey(m.Object.GetName())] = true
		case isPriorityClass(m.Object):
			out[priorityKey(m.Object.GetName())] = true
		case isDefinition(m.Object):
			for _, gvk := range definedKinds(m.Object) {
				out[kindKey(gvk.GroupKind())] = true
			}
		}
	}
	return out
}

// definedKinds returns the kinds that a CustomResourceDefinition serves.
func definedKinds(crd *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var out []schema.GroupVersionKind
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] == false {
			continue
		}
		if text, ok := version["name"].(string); ok {
			out = append(out, schema.GroupVersionKind{Group: group, Version: text, Kind: name})
		}
	}
	return out
}

// priorityOf returns the priority class that a pod, a pod template or a group names.
func priorityOf(obj *unstructured.Unstructured) string {
	for _, path := range [][]string{{"spec", "priorityClassName"}, {"spec", "template", "spec", "priorityClassName"}} {
		if name, ok, err := unstructured.NestedString(obj.Object, path...); ok && err == nil {
			return name
		}
	}
	return ""
}

// withPolicy completes a PodGroup for the dry run. The server copies an omitted policy from the
// Workload. If that Workload is not applied yet, withPolicy makes the copy, so that the server can
// validate the rest of the PodGroup.
func withPolicy(obj *unstructured.Unstructured, all []Manifest) *unstructured.Unstructured {
	if !isKind(obj, "scheduling.k8s.io", "PodGroup") {
		return obj
	}
	if _, ok, _ := unstructured.NestedMap(obj.Object, "spec", "schedulingPolicy"); ok {
		return obj
	}
	workload, template := templateOf(obj)
	for _, m := range all {
		if !isKind(m.Object, "scheduling.k8s.io", "Workload") || m.Object.GetName() != workload ||
			!sameNamespace(m.Object, obj) {
			continue
		}
		templates, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", "podGroupTemplates")
		for _, t := range templates {
			fields, ok := t.(map[string]any)
			policy, has := fields["schedulingPolicy"].(map[string]any)
			if ok && has && fields["name"] == template {
				out := obj.DeepCopy()
				if unstructured.SetNestedMap(out.Object, policy, "spec", "schedulingPolicy") == nil {
					return out
				}
			}
		}
	}
	return obj
}

// templateOf returns the template that a PodGroup refers to, in any of the served forms.
func templateOf(group *unstructured.Unstructured) (workload, template string) {
	spec, _, _ := unstructured.NestedMap(group.Object, "spec")
	flat, _ := spec["podGroupTemplateRef"].(map[string]any)
	nested, _ := flat["workload"].(map[string]any)
	ref, _ := spec["workloadRef"].(map[string]any)
	for _, fields := range []map[string]any{flat, nested, ref} {
		if name, ok := fields["workloadName"].(string); ok {
			for _, key := range []string{"podGroupTemplateName", "templateName"} {
				if template, ok := fields[key].(string); ok {
					return name, template
				}
			}
		}
	}
	return "", ""
}

// sameNamespace reports whether two objects are in the same namespace. The first may omit it.
func sameNamespace(a, located *unstructured.Unstructured) bool {
	namespace := a.GetNamespace()
	return namespace == located.GetNamespace() || namespace == "" && located.GetNamespace() == "default"
}

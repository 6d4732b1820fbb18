package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// compared are the resources whose objects are compared.
var compared = []string{
	"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "controllerrevisions.apps",
	"jobs.batch", "cronjobs.batch", "replicationcontrollers",
	"pods", "persistentvolumeclaims", "configmaps", "poddisruptionbudgets.policy",
}

// Snapshot is the content of a namespace.
type Snapshot struct {
	// Values has the values of all fields, by the object's name, a space, and the field's path.
	Values map[string]string
	// Version changes whenever an object other than an event changes.
	Version string
}

// snapshot reads a namespace, and normalizes its content.
func (s *Side) snapshot(ctx context.Context, namespace string) (Snapshot, error) {
	var objects []unstructured.Unstructured
	var version []string
	for _, resource := range compared {
		client, err := s.resource(resource, namespace)
		if err != nil {
			return Snapshot{}, err
		}
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return Snapshot{}, fmt.Errorf("%s: list %s: %w", s.Name, resource, err)
		}
		for _, obj := range list.Items {
			if obj.GetKind() == "ConfigMap" && obj.GetName() == "kube-root-ca.crt" {
				continue
			}
			objects = append(objects, obj)
			version = append(version, string(obj.GetUID())+obj.GetResourceVersion())
		}
	}
	events, err := s.Clients.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Snapshot{}, err
	}
	n := newNormalizer(namespace, objects)
	for i := range events.Items {
		e := &events.Items[i]
		n.event(e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Type, e.Reason)
	}
	return Snapshot{Values: n.values(), Version: strings.Join(version, " ")}, nil
}

// normalizer replaces values that differ between any two clusters: UIDs, times, hashes, random
// names.
type normalizer struct {
	namespace string
	objects   []unstructured.Unstructured
	symbols   map[string]string // hash → symbol
	names     map[string]string // UID → KIND/NAME, normalized
	events    map[string]string
}

func newNormalizer(namespace string, objects []unstructured.Unstructured) *normalizer {
	n := &normalizer{
		namespace: namespace,
		objects:   objects,
		symbols:   map[string]string{},
		names:     map[string]string{},
		events:    map[string]string{},
	}
	for i := range objects {
		n.addSymbols(&objects[i])
	}
	for i := range objects {
		// A pod can outlive its ReplicaSet, so that only the hash is left.
		if hash := objects[i].GetLabels()["pod-template-hash"]; hash != "" && n.symbols[hash] == "" {
			n.symbols[hash] = "{deleted}"
		}
	}
	for i := range objects {
		obj := &objects[i]
		n.names[string(obj.GetUID())] = obj.GetKind() + "/" + n.name(obj.GetName(), obj.GetGenerateName())
	}
	return n
}

// addSymbols determines a symbol for the hash of a template, or for the time of a Job: the owner's
// name and the number of the revision.
func (n *normalizer) addSymbols(obj *unstructured.Unstructured) {
	var hash, revision string
	switch obj.GetKind() {
	case "ReplicaSet":
		hash, revision = obj.GetLabels()["pod-template-hash"], obj.GetAnnotations()["deployment.kubernetes.io/revision"]
	case "ControllerRevision":
		hash = obj.GetName()[strings.LastIndex(obj.GetName(), "-")+1:]
		number, _, _ := unstructured.NestedInt64(obj.Object, "revision")
		revision = fmt.Sprint(number)
	case "Job":
		// The Job of a CronJob is named for the minute at which it is due.
		if c := metav1.GetControllerOf(obj); c != nil && c.Kind == "CronJob" {
			hash, revision = obj.GetName()[strings.LastIndex(obj.GetName(), "-")+1:], "minute"
		}
	}
	if hash == "" {
		return
	}
	owner := "orphan"
	if c := metav1.GetControllerOf(obj); c != nil {
		owner = c.Kind + "/" + c.Name
	}
	n.symbols[hash] = fmt.Sprintf("{%s %s}", owner, revision)
}

// hashes matches possible hashes: words that a symbol can replace.
var hashes = regexp.MustCompile(`[a-z0-9]{4,12}`)

func (n *normalizer) symbolize(s string) string {
	return hashes.ReplaceAllStringFunc(s, func(word string) string {
		if symbol, ok := n.symbols[word]; ok {
			return symbol
		}
		return word
	})
}

// name normalizes the name of an object.
func (n *normalizer) name(name, generated string) string {
	if generated != "" && strings.HasPrefix(name, generated) && random.MatchString(name) {
		name = generated + "*"
	}
	return n.symbolize(name)
}

// random matches the random suffix of a pod's name in an event, when the pod may have been deleted.
var random = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// minuteEnd matches the time at the end of the name of a CronJob's Job.
var minuteEnd = regexp.MustCompile(`-[0-9]{8}$`)

// hashEnd matches the hash at the end of a ReplicaSet's name, when the ReplicaSet may have been
// deleted.
var hashEnd = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{8,10}$`)

func (n *normalizer) event(kind, name, eventType, reason string) {
	switch kind {
	case "Pod":
		name = hashEnd.ReplaceAllString(minuteEnd.ReplaceAllString(random.ReplaceAllString(name, ""), "-{minute}"), "-{hash}")
	case "Job":
		name = minuteEnd.ReplaceAllString(name, "-{minute}")
	case "ReplicaSet":
		name = hashEnd.ReplaceAllString(name, "-{hash}")
	}
	n.events["Event/"+kind+"/"+name+" "+eventType+" "+reason] = "recorded"
}

// values returns the fields of all objects and the events.
func (n *normalizer) values() map[string]string {
	byName := map[string][]map[string]string{}
	for i := range n.objects {
		obj := &n.objects[i]
		fields := map[string]string{}
		n.strip(obj)
		n.flatten(fields, "", obj.Object)
		name := n.names[string(obj.GetUID())]
		byName[name] = append(byName[name], fields)
	}
	out := maps.Clone(n.events)
	for name, list := range byName {
		sort.Slice(list, func(i, j int) bool { return text(list[i]) < text(list[j]) })
		for i, fields := range list {
			if len(list) > 1 || strings.HasSuffix(name, "*") {
				name = fmt.Sprintf("%s#%d", strings.TrimSuffix(strings.Split(name, "#")[0], "*"), i)
			}
			for path, value := range fields {
				out[name+" "+path] = value
			}
		}
	}
	return out
}

func text(fields map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString(path + "=" + fields[path] + "\n")
	}
	return b.String()
}

// strip removes fields that no controller sets.
func (n *normalizer) strip(obj *unstructured.Unstructured) {
	for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp", "selfLink", "namespace",
		"name"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "apiVersion")
	unstructured.RemoveNestedField(obj.Object, "kind")
	stripAccount(obj.Object)
}

// stripAccount removes the service account and the volume of its token, which admission adds.
func stripAccount(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range []string{"serviceAccount", "serviceAccountName"} {
			if v[field] == "default" {
				delete(v, field)
			}
		}
		for _, field := range []string{"volumes", "volumeMounts"} {
			list, ok := v[field].([]any)
			if !ok {
				continue
			}
			list = slices.DeleteFunc(list, func(e any) bool {
				m, _ := e.(map[string]any)
				name, _ := m["name"].(string)
				return strings.HasPrefix(name, "kube-api-access-")
			})
			if v[field] = list; len(list) == 0 {
				delete(v, field)
			}
		}
		for _, child := range v {
			stripAccount(child)
		}
	case []any:
		for _, child := range v {
			stripAccount(child)
		}
	}
}

// timeFields are the fields whose value is a time.
var timeFields = regexp.MustCompile(`(Time|[Tt]imestamp|startedAt|finishedAt)$`)

func (n *normalizer) flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for key, child := range v {
			n.flatten(out, strings.TrimPrefix(path+"."+n.symbolize(key), "."), child)
		}
	case []any:
		for i, child := range v {
			n.flatten(out, fmt.Sprintf("%s[%s]", path, n.index(i, child)), child)
		}
	default:
		out[path] = n.value(path, v)
	}
}

// index returns the key of a list element: its merge key, if that is known.
func (n *normalizer) index(i int, v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(i)
	}
	for _, key := range []string{"type", "name", "uid"} {
		if s, ok := m[key].(string); ok {
			return n.value(key, s)
		}
	}
	return fmt.Sprint(i)
}

func (n *normalizer) value(path string, v any) string {
	s, ok := v.(string)
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	if timeFields.MatchString(path) {
		return "(a time)"
	}
	if name, ok := n.names[s]; ok {
		return "(uid of " + name + ")"
	}
	if strings.HasSuffix(path, ".resourceVersion") { // of a reference
		return "(a version)"
	}
	if path == "uid" || strings.HasSuffix(path, ".uid") || strings.HasSuffix(path, "controller-uid") ||
		strings.HasSuffix(path, ".podUID") {
		return "(a uid)"
	}
	s = strings.ReplaceAll(s, n.namespace, "NAMESPACE")
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(` "',:()`, r) }) {
		if short := random.ReplaceAllString(word, "-*"); short != word {
			s = strings.ReplaceAll(s, word, short)
		}
	}
	return n.symbolize(s)
}

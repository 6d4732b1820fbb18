package templatesync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// TestScenarios runs testdata. Rewrite with: go test ./internal/controller/templatesync -rewrite
//
//	put       objects, one a line:
//	          namespace a [key=value…] [deleting]
//	          original o [content=…] [name=…] [select=key:value] [admin] [deleting] [badselector]
//	          template a/o [content=…] [by=manager] [label=o] [finalizer]  (by a user, over what is there: all marks stay)
//	gone      objects, one a line; originals leave their copies to "collect"
//	strip     a/o label|annotations|owner…: takes marks off
//	collect   the garbage collector runs
//	refuse    content=…: the server does not take it; taken content=… ends that
//	fail      n after=m: so many requests fail, after m that do not
//	lag       objects, as put; from then on the caches do not follow, until catchup
//	restart, pass (a time), work
//	show      all templates; status: all statuses
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if text := w.play(t, d); text != "" {
				return text
			}
			w.work()
			return w.flush()
		})
	})
}

func (w *world) play(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "put":
		for line := range strings.Lines(d.Input) {
			w.put(strings.Fields(line))
		}
	case "gone":
		for line := range strings.Lines(d.Input) {
			w.deleteObjects(strings.Fields(line))
		}
	case "strip":
		w.strip(d.CmdArgs[0].Key, d.CmdArgs[1:])
	case "collect":
		w.collectGarbage()
	case "refuse", "taken":
		w.refused[d.CmdArgs[0].Vals[0]] = d.Cmd == "refuse"
	case "fail":
		if _, err := fmt.Sscan(d.CmdArgs[0].Key, &w.broken); err != nil {
			d.Fatalf(t, "%v", err)
		}
		d.MaybeScanArgs(t, "after", &w.sound)
	case "lag":
		for line := range strings.Lines(d.Input) {
			w.put(strings.Fields(line))
		}
		w.follow()
		w.lags = true
	case "catchup":
		w.lags = false
	case "restart":
		w.follow()
		w.restart()
	case "pass":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.clock.SetTime(w.clock.Now().Add(by))
	case "work":
	case "show":
		return w.show()
	case "status":
		return w.statusText()
	default:
		d.Fatalf(t, "unknown verb")
	}
	return ""
}

// keyValues are key=value; a word without = is a flag.
func keyValues(fields []string) map[string]string {
	m := map[string]string{}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		m[key] = value
	}
	return m
}

func (w *world) put(fields []string) {
	args := keyValues(fields[2:])
	switch fields[0] {
	case "namespace":
		w.putNamespace(fields[1], args)
	case "original":
		w.putOriginal(fields[1], args)
	case "template":
		w.putTemplate(fields[1], args)
	default:
		panic("unknown kind " + fields[0])
	}
}

func (w *world) putNamespace(name string, args map[string]string) {
	m := &metav1.ObjectMeta{Name: name}
	if old := w.namespaces[name]; old != nil {
		m = old.DeepCopy()
	}
	if has(args, "deleting") {
		m.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
		delete(args, "deleting")
	}
	m.Labels = args
	w.stamp(m)
	w.namespaces[name] = m
}

func spec(content string) resourcev1.ResourceClaimSpec {
	request := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: content}}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}
}

func (w *world) putOriginal(name string, args map[string]string) {
	o := &allotv1alpha1.ClusterResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if old := w.originals[name]; old != nil {
		o = old.DeepCopy()
	}
	o.Spec = allotv1alpha1.ClusterResourceClaimTemplateSpec{Spec: spec(args["content"]), NameOverride: args["name"]}
	if has(args, "admin") {
		o.Spec.Spec.Devices.Requests[0].Exactly.AdminAccess = ptr.To(true)
	}
	if key, value, ok := strings.Cut(args["select"], ":"); ok {
		o.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	if has(args, "badselector") {
		o.Spec.NamespaceSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Like"}},
		}
	}
	if has(args, "deleting") {
		o.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	}
	o.Generation++
	w.stamp(&o.ObjectMeta)
	w.originals[name] = o
}

// putTemplate does what kubectl replace --force does: it creates another object with the same
// metadata.
func (w *world) putTemplate(key string, args map[string]string) {
	namespace, name, _ := strings.Cut(key, "/")
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if old := w.templates[key]; old != nil {
		t = old.DeepCopy()
		t.UID = ""
	}
	t.Spec.Spec = spec(args["content"])
	t.ManagedFields = managed(args["by"])
	if has(args, "label") {
		t.Labels = map[string]string{Label: args["label"]}
	}
	if has(args, "finalizer") {
		t.Finalizers = []string{"example.com/held"}
	}
	w.stamp(&t.ObjectMeta)
	w.templates[key] = t
}

func (w *world) deleteObjects(fields []string) {
	switch fields[0] {
	case "namespace":
		delete(w.namespaces, fields[1])
	case "original":
		delete(w.originals, fields[1])
	case "template":
		delete(w.templates, fields[1])
	}
}

func (w *world) strip(key string, marks []datadriven.CmdArg) {
	t := w.templates[key].DeepCopy()
	for _, mark := range marks {
		switch mark.Key {
		case "label":
			t.Labels = nil
		case "annotations":
			t.Annotations = nil
		case "owner":
			t.OwnerReferences = nil
		case "managed":
			t.ManagedFields = nil
		default:
			panic("unknown mark " + mark.Key)
		}
	}
	w.stamp(&t.ObjectMeta)
	w.templates[key] = t
}

func (w *world) show() string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(w.templates)) {
		t := w.templates[key]
		marks := ""
		if owner := metav1.GetControllerOf(t); owner != nil {
			marks = " owner=" + owner.Name
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s", key, strings.TrimSuffix(describe(t), " of "), marks))
	}
	return strings.Join(append(lines, ""), "\n")
}

func (w *world) statusText() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.originals)) {
		o := w.originals[name]
		s := o.Status
		fmt.Fprintf(&b, "%s: wanted %d, in step %d, conflicting %d", name, s.Wanted, s.InStep, s.Conflicting)
		if s.ObservedGeneration != o.Generation {
			b.WriteString(" (of an earlier generation)")
		}
		b.WriteString("\n")
		for _, c := range s.Conflicts {
			fmt.Fprintf(&b, "  conflict in %s with %s\n", c.Namespace, c.Holder)
		}
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, "  %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return b.String()
}

// TestStopFinishesAReplacement stops the process between the deletion of a copy and the creation of
// the next one.
func TestStopFinishesAReplacement(t *testing.T) {
	w := newWorld()
	w.put([]string{"namespace", "a"})
	w.put([]string{"original", "o", "content=old"})
	w.work()
	w.put([]string{"original", "o", "content=new"})
	w.follow()
	ctx, stop := context.WithCancel(t.Context())
	w.interval = func(what string) {
		if strings.HasPrefix(what, "delete ") {
			stop()
		}
	}
	if err := w.Reconcile(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if now := w.templates["a/o"]; ctx.Err() == nil || now == nil || contentOf(now) != "new" {
		t.Errorf("stopped: %v; the copy is %v", ctx.Err(), now)
	}
}

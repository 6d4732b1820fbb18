package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// The scenarios in testdata/scenarios have these verbs. After each, the controller works until
// nothing waits, unless "lag" is given; then nothing happens, and the cache does not see it yet.
// All that the controller writes is printed.
//
//	job [name=j] [uid=u] [owner=JobSet/s] [deleting]   with the spec as YAML, which replaces the one there is
//	annotate job=j key=k value=v
//	workload name=w [for=Job/j] [controlled-by=uid]    with spec.podGroupTemplates as YAML
//	workload … tree                                    with spec.compositePodGroupTemplates as YAML
//	run [pods…]                all that have no node, or these, get one, run and are ready
//	restarts count=2 pods…     of their container
//	end [code=3] [condition=DisruptionTarget] pods…    their container ends
//	delete pods… | delete group=g | delete job=j | delete workload=w     as a user does, or a garbage collector
//	gone pods…                 their node is done with pods that are being deleted
//	orphan pods…               they lose their owner
//	untrack pods…              they lose the finalizer, by somebody's hand
//	pod name=p [tracked]       a pod without owner, which matches job j
//	refuse verb=create|delete|patch|status name=prefix [with=(text)]; without "with": allow again
//	lose [verb=(create,delete)]          such requests are made, and their responses are lost
//	advance by=10s
//	crash                      another controller takes over
//	sync                       the caches see the server
//	step [lag]                 reconciles one key
//	work                       reconciles until nothing waits
//	pods                       prints the server's pods
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			handler(t, w, d)
			if !d.HasArg("lag") && d.Cmd != "step" && d.Cmd != "pods" && d.Cmd != "sync" {
				w.sync()
				w.work()
			}
			return w.flush()
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData){
	"job": doJob, "annotate": doAnnotate, "workload": doWorkload, "run": doRun, "restarts": doRestarts, "end": doEnd,
	"delete": doDelete, "gone": doGone, "orphan": doOrphan, "untrack": doUntrack, "pod": doPod, "refuse": doRefuse,
	"lose": doLose, "sync": doSync, "advance": doAdvance, "step": doStep,
	"pods":  doPods,
	"work":  func(*testing.T, *world, *datadriven.TestData) {},
	"crash": func(_ *testing.T, w *world, _ *datadriven.TestData) { w.restart() },
}

func doJob(t *testing.T, w *world, d *datadriven.TestData) {
	name, uid, owner := "j", "", ""
	d.MaybeScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "uid", &uid)
	d.MaybeScanArgs(t, "owner", &owner)
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.server.jobs[name]; ok && uid == "" {
		job = live.DeepCopy()
	}
	if uid != "" {
		job.UID = types.UID(uid)
	}
	job.Generation++
	if d.Input != "" || job.Spec.Selector == nil {
		job.Spec = batch.JobSpec{}
		if err := yaml.UnmarshalStrict([]byte(d.Input), &job.Spec); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	labels := map[string]string{"job": name}
	job.Spec.Selector, job.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	if len(job.Spec.Template.Spec.Containers) == 0 {
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
	}
	if kind, name, ok := strings.Cut(owner, "/"); ok {
		yes := true
		job.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "jobset.x-k8s.io/v1", Kind: kind, Name: name, UID: types.UID(owner), Controller: &yes},
		}
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.now.Now())
		job.DeletionTimestamp = &now
	}
	w.stamp(&job.ObjectMeta)
	w.server.jobs[name] = job
}

func doAnnotate(t *testing.T, w *world, d *datadriven.TestData) {
	var name, key, value string
	d.ScanArgs(t, "job", &name)
	d.ScanArgs(t, "key", &key)
	d.ScanArgs(t, "value", &value)
	job := w.server.jobs[name].DeepCopy()
	job.Annotations = withEntry(job.Annotations, key, value)
	w.stamp(&job.ObjectMeta)
	w.server.jobs[name] = job
}

func doWorkload(t *testing.T, w *world, d *datadriven.TestData) {
	var name, owner string
	target := "Job/j"
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "for", &target)
	d.MaybeScanArgs(t, "controlled-by", &owner)
	workload := &scheduling.Workload{ObjectMeta: metav1.ObjectMeta{Name: name}}
	var templates any = &workload.Spec.PodGroupTemplates
	if d.HasArg("tree") {
		templates = &workload.Spec.CompositePodGroupTemplates
	}
	if err := yaml.UnmarshalStrict([]byte(d.Input), templates); err != nil {
		d.Fatalf(t, "%v", err)
	}
	kind, of, _ := strings.Cut(target, "/")
	group := map[string]string{"Job": "batch", "JobSet": "jobset.x-k8s.io"}[kind]
	if err := yaml.Unmarshal(fmt.Appendf(nil, "{apiGroup: %s, kind: %s, name: %s}", group, kind, of),
		&workload.Spec.ControllerRef); err != nil {
		d.Fatalf(t, "%v", err)
	}
	if owner != "" {
		yes := true
		workload.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: of, UID: types.UID(owner), Controller: &yes}}
	}
	w.stamp(&workload.ObjectMeta)
	w.server.workloads.Store[name] = workload
}

// named returns copies of the pods whose names are arguments without a value.
func named(t *testing.T, w *world, d *datadriven.TestData) []*core.Pod {
	var pods []*core.Pod
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) > 0 || arg.Key == "lag" {
			continue
		}
		pod, ok := w.server.pods[arg.Key]
		if !ok {
			d.Fatalf(t, "no pod %q", arg.Key)
		}
		pods = append(pods, pod.DeepCopy())
	}
	return pods
}

func doRun(t *testing.T, w *world, d *datadriven.TestData) {
	pods := named(t, w, d)
	if len(pods) == 0 {
		for _, pod := range w.server.pods.InNamespace("") {
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
				pods = append(pods, pod.DeepCopy())
			}
		}
	}
	for _, pod := range pods {
		w.runPod(pod)
	}
}

func (w *world) runPod(pod *core.Pod) {
	pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now.Now())},
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c"}}
	w.putPod(pod)
}

func doRestarts(t *testing.T, w *world, d *datadriven.TestData) {
	var count int
	d.ScanArgs(t, "count", &count)
	for _, pod := range named(t, w, d) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: int32(count)}}
		w.putPod(pod)
	}
}

func doEnd(t *testing.T, w *world, d *datadriven.TestData) {
	var code int
	var condition string
	d.MaybeScanArgs(t, "code", &code)
	d.MaybeScanArgs(t, "condition", &condition)
	for _, pod := range named(t, w, d) {
		if condition != "" {
			pod.Status.Conditions = append(pod.Status.Conditions,
				corev1.PodCondition{Type: corev1.PodConditionType(condition), Status: corev1.ConditionTrue})
		}
		w.endPod(pod, int32(code))
	}
}

func (w *world) endPod(pod *core.Pod, code int32) {
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status = corev1.ConditionFalse
		}
	}
	ended := corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now.Now())}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &ended}}}
	w.putPod(pod)
}

func doDelete(t *testing.T, w *world, d *datadriven.TestData) {
	var group, job, workload string
	d.MaybeScanArgs(t, "group", &group)
	d.MaybeScanArgs(t, "job", &job)
	d.MaybeScanArgs(t, "workload", &workload)
	if group != "" {
		if err := (serverOfGroups{w}).Delete(t.Context(), w.server.groups[group]); err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.lines = slices.DeleteFunc(w.lines, func(line string) bool { return line == "delete PodGroup "+group })
	}
	delete(w.server.jobs, job)
	delete(w.server.workloads.Store, workload)
	for _, pod := range named(t, w, d) {
		w.deletePod(pod)
	}
}

func doGone(t *testing.T, w *world, d *datadriven.TestData) {
	for _, pod := range named(t, w, d) {
		w.gonePod(pod)
	}
}

func (w *world) gonePod(pod *core.Pod) {
	none := int64(0)
	pod.DeletionGracePeriodSeconds = &none
	if pod.Finished() {
		w.putPod(pod)
	} else {
		w.endPod(pod, 137)
	}
}

func doOrphan(t *testing.T, w *world, d *datadriven.TestData) {
	for _, pod := range named(t, w, d) {
		pod.OwnerReferences = nil
		w.putPod(pod)
	}
}

func doUntrack(t *testing.T, w *world, d *datadriven.TestData) {
	for _, pod := range named(t, w, d) {
		pod.Finalizers = nil
		w.putPod(pod)
	}
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "name", &name)
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"job": "j"}}}
	pod.Status.Phase = corev1.PodPending
	w.putPod(pod)
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) {
	var verb, name, with string
	d.ScanArgs(t, "verb", &verb)
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "with", &with)
	w.refuse = func(v, n string) error {
		if with == "" || v != verb || !strings.HasPrefix(n, name) {
			return nil
		}
		w.refuse = func(string, string) error { return nil } // once
		w.say("refused: %s %s", v, n)
		return controllertest.Refusal(with)
	}
}

func doSync(_ *testing.T, w *world, _ *datadriven.TestData) { w.sync() }

func doLose(_ *testing.T, w *world, d *datadriven.TestData) {
	w.lost = nil
	for _, arg := range d.CmdArgs {
		w.lost = append(w.lost, arg.Vals...)
	}
}

func doAdvance(t *testing.T, w *world, d *datadriven.TestData) {
	var by string
	d.ScanArgs(t, "by", &by)
	step, err := time.ParseDuration(by)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	w.advance(step)
}

func doStep(t *testing.T, w *world, d *datadriven.TestData) {
	if len(w.waiting) == 0 {
		d.Fatalf(t, "nothing waits")
	}
	w.lag = d.HasArg("lag")
	w.step()
	w.lag = false
}

func doPods(_ *testing.T, w *world, _ *datadriven.TestData) {
	for _, pod := range w.server.pods.InNamespace("") {
		line := fmt.Sprintf("%s %s owners=%d", pod.Name, pod.Status.Phase, len(pod.OwnerReferences))
		if isTracked(pod) {
			line += " tracked"
		}
		if pod.DeletionTimestamp != nil {
			line += " deleting"
		}
		w.say("%s", line)
	}
}

package apiserver_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const jobYAML = `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  completions: 2
  template:
    metadata: {labels: {app: j}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i}]
`

func TestJobSelector(t *testing.T) {
	ns, jobs := namespace(t), clientset(t, remote(t)).BatchV1()
	create(t, ns, jobYAML)
	job, err := jobs.Jobs(ns).Get(t.Context(), "j", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uid := string(job.UID)
	if got := metav1.FormatLabelSelector(job.Spec.Selector); got != "batch.kubernetes.io/controller-uid="+uid {
		t.Errorf("selector is %s", got)
	}
	for key, want := range map[string]string{
		"app": "j", "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid, "job-name": "j",
		"batch.kubernetes.io/job-name": "j",
	} {
		if got := job.Spec.Template.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	// A Job without labels gets those of its template, including generated ones, as in Kubernetes
	// 1.37.
	if !maps.Equal(job.Labels, job.Spec.Template.Labels) || job.Generation != 1 {
		t.Errorf("labels are %v, generation %d", job.Labels, job.Generation)
	}
	_, err = tryCreate(t, ns,
		strings.Replace(strings.Replace(jobYAML, "name: j", "name: k", 1), "{app: j}", "{job-name: other}", 1))
	if got := causes(t, err); !slices.Equal(got, []string{"spec.template.metadata.labels[job-name]"}) {
		t.Errorf("another job-name: fields %v", got)
	}
}

func TestJobStatusAndFieldSelector(t *testing.T) {
	ns, jobs := namespace(t), clientset(t, remote(t)).BatchV1()
	create(t, ns, jobYAML)
	job, err := jobs.Jobs(ns).Get(t.Context(), "j", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	job.Spec.Parallelism = new(int32(7))
	job.Status.StartTime, job.Status.Succeeded = &now, 1
	if job, err = jobs.Jobs(ns).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if *job.Spec.Parallelism != 1 || job.Generation != 1 {
		t.Errorf("a write of the status changed the spec: parallelism %d, generation %d", *job.Spec.Parallelism,
			job.Generation)
	}
	for selector, want := range map[string]int{"status.successful=1": 1, "status.successful=0": 0} {
		list, err := jobs.Jobs(ns).List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(list.Items) != want {
			t.Errorf("%s: %v, %d Jobs, want %d", selector, err, len(list.Items), want)
		}
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	_, err = jobs.Jobs(ns).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	if got := causes(t, err); !slices.Equal(got, []string{"status.conditions", "status.completionTime"}) {
		t.Errorf("complete without a word of success: fields %v", got)
	}
}

func TestJobsOrphanTheirPods(t *testing.T) {
	ns, cfg, said := namespace(t), remote(t), &warnings{}
	cfg.WarningHandler = said
	jobs := clientset(t, cfg).BatchV1().Jobs(ns)
	create(t, ns,
		strings.Replace(jobYAML, "metadata: {name: j}", "metadata: {name: j, finalizers: [example.com/hold]}", 1))
	if err := jobs.Delete(t.Context(), "j", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	job, err := jobs.Get(t.Context(), "j", metav1.GetOptions{})
	if err != nil || !slices.Contains(job.Finalizers, metav1.FinalizerOrphanDependents) {
		t.Errorf("got %v, finalizers %v", err, job.Finalizers)
	}
	if len(said.texts) != 1 || !strings.Contains(said.texts[0], "propagationPolicy=Background") {
		t.Errorf("warned of %q", said.texts)
	}
	create(t, ns, strings.Replace(jobYAML, "name: j", "name: k", 1))
	if err := jobs.Delete(t.Context(), "k", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	if len(said.texts) != 1 {
		t.Errorf("warned of %q", said.texts)
	}
	if _, err := jobs.Get(t.Context(), "k", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}

func TestDaemonSetTemplateGeneration(t *testing.T) {
	ns, sets := namespace(t), clientset(t, remote(t)).AppsV1()
	create(t, ns, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, annotations: {deprecated.daemonset.template.generation: "-4"}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
`)
	step := func(want string, generation int64, change func(*appsv1.DaemonSet)) {
		t.Helper()
		d, err := sets.DaemonSets(ns).Get(t.Context(), "d", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(d)
			if d, err = sets.DaemonSets(ns).Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.Annotations[appsv1.DeprecatedTemplateGeneration]; got != want || d.Generation != generation {
			t.Errorf("template generation %s, generation %d, want %s and %d", got, d.Generation, want, generation)
		}
	}
	step("1", 1, nil)
	step("2", 2, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = "j" })
	step("2", 3, func(d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = 3 })
	step("2", 3, func(d *appsv1.DaemonSet) { d.Annotations = nil })
}

func TestStatefulSetScale(t *testing.T) {
	ns, sets := namespace(t), clientset(t, remote(t)).AppsV1()
	create(t, ns, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
  volumeClaimTemplates:
  - {metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`)
	scale, err := sets.StatefulSets(ns).GetScale(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 1 || scale.Status.Selector != "a=b" {
		t.Errorf("scale is %+v", scale)
	}
	scale.Spec.Replicas = 4
	if _, err := sets.StatefulSets(ns).UpdateScale(t.Context(), "s", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := sets.StatefulSets(ns).Get(t.Context(), "s", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *s.Spec.Replicas != 4 || s.Generation != 2 {
		t.Errorf("replicas %d, generation %d", *s.Spec.Replicas, s.Generation)
	}
	// A claim template without the defaulted fields is equal to the stored one.
	patch := []byte(`{"spec":{"volumeClaimTemplates":[
		{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1024Mi"}}}}]}}`)
	if _, err := sets.StatefulSets(ns).Patch(t.Context(), "s", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

func TestVolumePhaseIsStamped(t *testing.T) {
	volumes := clientset(t, remote(t)).CoreV1().PersistentVolumes()
	v, err := volumes.Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "v-"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{
				"storage": quantity("1Gi"),
			}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/d"}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Status.Phase != corev1.VolumePending || v.Status.LastPhaseTransitionTime == nil {
		t.Errorf("new volume: %+v", v.Status)
	}
	long := metav1.Unix(1, 0)
	v.Status.Phase, v.Status.LastPhaseTransitionTime = corev1.VolumeAvailable, &long
	if v, err = volumes.UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil ||
		!v.Status.LastPhaseTransitionTime.Equal(&long) {
		t.Fatalf("own time: %v, %+v", err, v.Status)
	}
	v.Status.Phase = corev1.VolumeBound
	if v, err = volumes.UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil ||
		!v.Status.LastPhaseTransitionTime.After(long.Time) {
		t.Errorf("new phase: %v, %+v", err, v.Status)
	}
}

func TestServiceAddress(t *testing.T) {
	ns, services := namespace(t), clientset(t, remote(t)).CoreV1()
	create(t, ns,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"h"},"spec":{"clusterIP":"None","selector":{"a":"b"}}}`)
	s, err := services.Services(ns).Get(t.Context(), "h", metav1.GetOptions{})
	if err != nil || !slices.Equal(s.Spec.ClusterIPs, []string{"None"}) {
		t.Fatalf("got %v, addresses %v", err, s.Spec.ClusterIPs)
	}
	s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.PublishNotReadyAddresses = "", nil, true
	if s, err = services.Services(ns).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil ||
		s.Spec.ClusterIP != "None" ||
		len(s.Spec.ClusterIPs) != 1 {
		t.Errorf("address left out: %v, %q %v", err, s.Spec.ClusterIP, s.Spec.ClusterIPs)
	}
	list, err := services.Services(ns).List(
		t.Context(),
		metav1.ListOptions{FieldSelector: "spec.clusterIP=None,spec.type=ClusterIP"},
	)
	if err != nil || len(list.Items) != 1 {
		t.Errorf("by address: %v, %d Services", err, len(list.Items))
	}
}

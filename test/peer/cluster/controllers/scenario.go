package controllers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// patience limits the time of a wait, on a busy machine.
const patience = 90 * time.Second

// Scenario is a file of testdata: a script, and the manifests that it applies.
//
// A script has one step a line; "#" begins a comment. "! STEP" must fail on both sides. KIND is any
// name of a resource, and SELECTOR one of labels, without spaces.
//
//	kubelet off|running|ready|hold         what the kubelet does by itself; off at the beginning
//	apply FILE                             server-side apply of a manifest
//	patch KIND/NAME JSON                   a merge patch
//	status KIND/NAME JSON                  a merge patch of the status
//	scale KIND/NAME N
//	delete KIND/NAME [background|foreground|orphan]
//	kubectl ARG…                           such as rollout undo
//	run|ready|unready SELECTOR [N]         of N pods (default: all) that have not finished
//	exit CODE SELECTOR [N]                 the containers of the pods end
//	disrupt SELECTOR [N]                   the pods get the condition DisruptionTarget
//	remove SELECTOR [N]                    deletes pods, with their grace period
//	node NAME ready|unready|gone [LABEL=VALUE]
//	taint NAME KEY=VALUE:EFFECT            replaces the taints of a node, but for those of its state; "-" for none
//	wait KIND/NAME PATH=VALUE              PATH as in status.readyReplicas, or conditions.TYPE[.reason]
//	wait KIND/NAME gone
//	wait pods SELECTOR N                   until there are N pods that are not terminating
//	wait claimed SELECTOR N                the same, of pods that have a controller
//	sleep DURATION
//	compare                                both sides must come to the same
type Scenario struct {
	Name  string
	steps []step
	files map[string]string
}

type step struct {
	line   int
	fails  bool
	verb   string
	args   []string
	source string
}

// ReadScenario reads a scenario from a file.
func ReadScenario(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	archive := txtar.Parse(data)
	s := &Scenario{Name: strings.TrimSuffix(filepath.Base(path), ".txt"), files: map[string]string{}}
	for _, f := range archive.Files {
		s.files[f.Name] = string(f.Data)
	}
	for i, line := range strings.Split(string(archive.Comment), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		st := step{line: i + 1, source: line}
		line, st.fails = strings.CutPrefix(line, "! ")
		words := strings.Fields(line)
		st.verb, st.args = words[0], words[1:]
		if st.verb == "patch" || st.verb == "status" { // JSON may contain spaces
			st.args = strings.SplitN(strings.TrimSpace(strings.TrimPrefix(line, st.verb)), " ", 2)
		}
		if _, known := verbs[st.verb]; !known && st.verb != "compare" {
			return nil, fmt.Errorf("%s:%d: unknown verb %q", path, st.line, st.verb)
		}
		s.steps = append(s.steps, st)
	}
	return s, nil
}

// stage is a scenario on one side.
type stage struct {
	*Side
	scenario  *Scenario
	namespace string
	nodes     []string // created by the scenario, to be deleted at its end
}

// verbs are the steps other than "compare".
var verbs = map[string]func(ctx context.Context, s *stage, args []string) error{
	"kubelet": func(_ context.Context, s *stage, args []string) error {
		return s.Kubelet.SetMode(s.namespace, Mode(args[0]))
	},
	"apply": applyFile, "patch": patchObject, "status": patchStatus, "scale": scaleObject, "delete": deleteObject,
	"kubectl": func(ctx context.Context, s *stage, args []string) error { return s.kubectl(ctx, s.namespace, args...) },
	"run": forPods(func(ctx context.Context, s *stage,
		pod *corev1.Pod) error {
		return s.Kubelet.run(ctx, pod, false)
	}),
	"ready": forPods(func(ctx context.Context, s *stage, pod *corev1.Pod) error {
		return errors.Join(s.Kubelet.bind(ctx, pod), s.Kubelet.SetReady(ctx, pod, true))
	}),
	"unready": forPods(
		func(ctx context.Context, s *stage, pod *corev1.Pod) error { return s.Kubelet.SetReady(ctx, pod, false) },
	),
	"disrupt": forPods(
		func(ctx context.Context, s *stage, pod *corev1.Pod) error { return s.Kubelet.SetDisrupted(ctx, pod) },
	),
	"remove": forPods(func(ctx context.Context, s *stage, pod *corev1.Pod) error {
		return s.Clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	}),
	"exit": exitPods, "node": setNode, "taint": setTaints, "wait": waitFor, "sleep": sleep,
}

func (s *stage) do(ctx context.Context, st step) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := verbs[st.verb](ctx, s, st.args)
	switch {
	case err != nil && st.fails:
		return nil
	case err != nil:
		return fmt.Errorf("%s: line %d: %s: %w", s.Name, st.line, st.source, err)
	case st.fails:
		return fmt.Errorf("%s: line %d: %s: succeeded, but must fail", s.Name, st.line, st.source)
	}
	return nil
}

func applyFile(ctx context.Context, s *stage, args []string) error {
	text, ok := s.scenario.files[args[0]]
	if !ok {
		return fmt.Errorf("no file %s", args[0])
	}
	for _, doc := range strings.Split(strings.ReplaceAll(text, "NAMESPACE", s.namespace), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &obj.Object); err != nil {
			return err
		}
		if err := s.owners(ctx, obj); err != nil {
			return err
		}
		if err := s.apply(ctx, s.namespace, obj); err != nil {
			return err
		}
	}
	return nil
}

// owners sets the UIDs of owners: "uid: KIND/NAME" is replaced by that of an object.
func (s *stage) owners(ctx context.Context, obj *unstructured.Unstructured) error {
	refs, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
	for _, r := range refs {
		ref := r.(map[string]any)
		if uid, _ := ref["uid"].(string); strings.Contains(uid, "/") {
			owner, err := s.get(ctx, s.namespace, uid)
			if err != nil || owner == nil {
				return fmt.Errorf("owner %s: not found (%w)", uid, err)
			}
			ref["uid"] = string(owner.GetUID())
		}
	}
	if len(refs) == 0 {
		return nil
	}
	return unstructured.SetNestedSlice(obj.Object, refs, "metadata", "ownerReferences")
}

func patchObject(ctx context.Context, s *stage, args []string) error {
	return s.patch(ctx, args[0], args[1])
}

func patchStatus(ctx context.Context, s *stage, args []string) error {
	return s.patch(ctx, args[0], args[1], "status")
}

func (s *stage) patch(ctx context.Context, ref, body string, subresources ...string) error {
	kind, name, _ := strings.Cut(ref, "/")
	client, err := s.resource(kind, s.namespace)
	if err != nil {
		return err
	}
	_, err = client.Patch(
		ctx,
		name,
		types.MergePatchType,
		[]byte(body),
		metav1.PatchOptions{FieldManager: "kubectl"},
		subresources...)
	return err
}

func scaleObject(ctx context.Context, s *stage, args []string) error {
	return s.patch(ctx, args[0], fmt.Sprintf(`{"spec":{"replicas":%s}}`, args[1]), "scale")
}

func deleteObject(ctx context.Context, s *stage, args []string) error {
	kind, name, _ := strings.Cut(args[0], "/")
	client, err := s.resource(kind, s.namespace)
	if err != nil {
		return err
	}
	propagation := metav1.DeletePropagationBackground
	if len(args) > 1 {
		switch args[1] {
		case "foreground":
			propagation = metav1.DeletePropagationForeground
		case "orphan":
			propagation = metav1.DeletePropagationOrphan
		}
	}
	return client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation})
}

// forPods returns a verb for an action on one pod; it takes a selector and a number of pods.
func forPods(do func(context.Context, *stage, *corev1.Pod) error) func(context.Context, *stage, []string) error {
	return func(ctx context.Context, s *stage, args []string) error {
		want := -1
		if len(args) > 1 {
			var err error
			if want, err = strconv.Atoi(args[1]); err != nil {
				return err
			}
		}
		open, err := s.awaitOpenPods(ctx, args[0], max(want, 1))
		if err != nil {
			return err
		}
		if want >= 0 {
			open = open[:want]
		}
		for _, pod := range open {
			// Controllers may delete a pod because of the action on an earlier one.
			if err := do(ctx, s, pod); err != nil && (want >= 0 || !apierrors.IsNotFound(err)) {
				return fmt.Errorf("pod %s: %w", pod.Name, err)
			}
		}
		return nil
	}
}

// awaitOpenPods waits for a number of pods that have not finished and are not being deleted, and
// returns all of them.
func (s *stage) awaitOpenPods(ctx context.Context, selector string, want int) ([]*corev1.Pod, error) {
	for {
		pods, err := s.pods(ctx, s.namespace, selector)
		if err != nil {
			return nil, err
		}
		var open []*corev1.Pod
		for i := range pods {
			if !finished(&pods[i]) && pods[i].DeletionTimestamp == nil {
				open = append(open, &pods[i])
			}
		}
		if len(open) >= want {
			return open, nil
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("%d pods, want %d: %w", len(open), want, err)
		}
	}
}

func exitPods(ctx context.Context, s *stage, args []string) error {
	code, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return err
	}
	return forPods(func(ctx context.Context, s *stage, pod *corev1.Pod) error {
		if err := s.Kubelet.bind(ctx, pod); err != nil {
			return err
		}
		return s.Kubelet.SetFinished(ctx, pod, int32(code))
	})(ctx, s, args[1:])
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

func sleep(ctx context.Context, _ *stage, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func setNode(ctx context.Context, s *stage, args []string) error {
	name := s.nodeName(args[0])
	if args[1] == "gone" {
		return s.Clients.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": s.namespace}}}
	for _, label := range args[2:] {
		key, value, _ := strings.Cut(label, "=")
		node.Labels[key] = value
	}
	s.nodes = append(s.nodes, name)
	return s.Kubelet.SetNode(ctx, node, args[1] == "ready")
}

// nodeName returns the name of a scenario's node: nodes have no namespace.
func (s *stage) nodeName(name string) string { return s.namespace + "-" + name }

func setTaints(ctx context.Context, s *stage, args []string) error {
	name := s.nodeName(args[0])
	node, err := s.Clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	taints := []corev1.Taint{}
	for _, t := range node.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			taints = append(taints, t)
		}
	}
	if args[1] != "-" {
		key, rest, _ := strings.Cut(args[1], "=")
		value, effect, _ := strings.Cut(rest, ":")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	node.Spec.Taints = taints
	_, err = s.Clients.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func waitFor(ctx context.Context, s *stage, args []string) error {
	for {
		wrong, err := s.unmet(ctx, args)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if wrong == "" && err == nil {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%s: %w", wrong, err)
		}
	}
}

// unmet returns the unmet part of a condition, or "".
func (s *stage) unmet(ctx context.Context, args []string) (string, error) {
	if args[0] == "pods" || args[0] == "claimed" {
		return s.unmetCount(ctx, args)
	}
	obj, err := s.get(ctx, s.namespace, args[0])
	switch {
	case err != nil:
		return "", err
	case args[1] == "gone" && obj == nil:
		return "", nil
	case args[1] == "gone":
		return args[0] + " exists", nil
	case obj == nil:
		return args[0] + " does not exist", nil
	}
	path, want, _ := strings.Cut(args[1], "=")
	got := field(obj.Object, path)
	if generation, found, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); found &&
		generation != obj.GetGeneration() {
		return fmt.Sprintf("%s: generation %d, want %d", args[0], generation, obj.GetGeneration()), nil
	}
	if got != want {
		return fmt.Sprintf("%s: %s is %q, want %q", args[0], path, got, want), nil
	}
	return "", nil
}

// unmetCount returns how many pods there are if it is another number, or "". Claimed pods are those
// with a controller.
func (s *stage) unmetCount(ctx context.Context, args []string) (string, error) {
	pods, err := s.pods(ctx, s.namespace, args[1])
	if err != nil {
		return "", err
	}
	count := 0
	for i := range pods {
		if pods[i].DeletionTimestamp == nil && (args[0] == "pods" || metav1.GetControllerOf(&pods[i]) != nil) {
			count++
		}
	}
	if strconv.Itoa(count) != args[2] {
		return fmt.Sprintf("%d pods, want %s", count, args[2]), nil
	}
	return "", nil
}

// field returns a field's value as text. For conditions it is the status, or another field.
func field(obj map[string]any, path string) string {
	if rest, ok := strings.CutPrefix(path, "conditions."); ok {
		kind, name, ok := strings.Cut(rest, ".")
		if !ok {
			name = "status"
		}
		conditions, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
		for _, c := range conditions {
			if m, _ := c.(map[string]any); m["type"] == kind {
				return fmt.Sprint(m[name])
			}
		}
		return ""
	}
	var v any = obj
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		if v = m[name]; v == nil {
			return ""
		}
	}
	return fmt.Sprint(v)
}

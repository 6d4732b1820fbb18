package testenv_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/testenv"
)

// A test starts an environment and uses it with any client.
func Example() {
	env, err := testenv.Start(context.Background(), testenv.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Println(err)
		}
	}()
	client := kubernetes.NewForConfigOrDie(env.Config)
	nodes, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range nodes.Items {
		fmt.Println(node.Name)
	}
	// Output:
	// node-0
	// node-1
	// node-2
}

// Pods are scheduled and run. With a fake clock they end when the test wants them to.
func ExampleOptions_podClock() {
	ctx := context.Background()
	clock := testingclock.NewFakeClock(time.Now())
	env, err := testenv.Start(ctx, testenv.Options{PodClock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Println(err)
		}
	}()
	pods := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Pods("default")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "work", Annotations: map[string]string{"allot.dev/run-for": "10h"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "any"}},
		},
	}
	changes, err := pods.Watch(ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "work").String()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer changes.Stop()
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	for change := range changes.ResultChan() {
		switch phase := change.Object.(*corev1.Pod).Status.Phase; phase {
		case corev1.PodRunning:
			fmt.Println(phase)
			clock.Step(10 * time.Hour)
		case corev1.PodSucceeded:
			fmt.Println(phase)
			return
		}
	}
	// Output:
	// Running
	// Succeeded
}

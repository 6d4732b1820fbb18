package defaults

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"":                        corev1.PullIfNotPresent,
		"nginx":                   corev1.PullAlways,
		"nginx:latest":            corev1.PullAlways,
		"nginx:1.29":              corev1.PullIfNotPresent,
		"reg.example:5000/a/b":    corev1.PullAlways,
		"reg.example:5000/a/b:v1": corev1.PullIfNotPresent,
		"nginx@sha256:00ff":       corev1.PullIfNotPresent,
		"nginx:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": corev1.PullAlways,
		"nginx:1.29@sha256:00ff": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}

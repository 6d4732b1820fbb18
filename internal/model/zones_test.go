package model

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"
)

var newerName = map[string]string{
	corev1.LabelTopologyZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone,
	corev1.LabelTopologyRegion:          corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
}

// isReachable implements the rule label by label.
func isReachable(volume, node map[string]string) bool {
	somewhere := false
	for key := range newerName {
		_, has := node[key]
		somewhere = somewhere || has
	}
	for key, newer := range newerName {
		value, ok := volume[key]
		if !ok || !somewhere || slices.Contains(strings.Split(value, "__"), "") {
			continue
		}
		at, ok := node[key]
		if !ok {
			at, ok = node[newer]
		}
		if !ok || !slices.Contains(strings.Split(value, "__"), at) {
			return false
		}
	}
	return true
}

func TestZonesOfAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string, values ...string) map[string]string {
			labels := map[string]string{"other": "x"}
			for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion,
				corev1.LabelFailureDomainBetaRegion} {
				if value := rapid.SampledFrom(append(values, "-")).Draw(t, what+key); value != "-" {
					labels[key] = value
				}
			}
			return labels
		}
		of, labels := draw("volume ", "a", "b", "a__b", "c__"), draw("node ", "a", "b")
		volume := VolumeFrom(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Labels: of}})
		matches := true
		for _, selector := range volume.Nodes {
			ok, err := nodeaffinity.NewLazyErrorNodeSelector(selector).Match(
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			)
			if err != nil {
				t.Fatal(err)
			}
			matches = matches && ok
		}
		if want := isReachable(of, labels); matches != want {
			t.Fatalf("a volume of %v can be used from a node of %v: %v", of, labels, matches)
		}
	})
}

package model

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Run by hand: go test -run '^$' -bench . ./internal/model

// BenchmarkRead measures what happens once at a start: nodes and slices are read, and the pools of
// each node are built.
func BenchmarkRead(b *testing.B) {
	b.Run("5,000 nodes with 8 devices", func(b *testing.B) { benchmarkRead(b, 5000, 5000, 8) })
	b.Run("500 nodes and a pool of 100 slices of 128", func(b *testing.B) { benchmarkRead(b, 500, 100, 128) })
}

func benchmarkRead(b *testing.B, nodes, slices, devices int) {
	var fleet []*corev1.Node
	var published []*resourcev1.ResourceSlice
	for n := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", n), ResourceVersion: "1"}}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU:  resource.MustParse("4"),
			corev1.ResourcePods: resource.MustParse("110"),
		}
		fleet = append(fleet, node)
	}
	all := true
	for n := range slices {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", n), ResourceVersion: "1"}}
		slice.Spec.Driver, slice.Spec.AllNodes = "d", &all
		slice.Spec.Pool = resourcev1.ResourcePool{Name: "p", ResourceSliceCount: int64(slices)}
		if slices == nodes {
			slice.Spec.Pool = resourcev1.ResourcePool{Name: fleet[n].Name, ResourceSliceCount: 1}
			slice.Spec.NodeName, slice.Spec.AllNodes = &fleet[n].Name, nil
		}
		for i := range devices {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d-%d", n, i)})
		}
		published = append(published, slice)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := NewState()
		for _, node := range fleet {
			s.Nodes.Put(NodeFrom(node))
		}
		for _, slice := range published {
			s.Devices.PutSlice(SliceFrom(slice))
		}
		for _, node := range s.Nodes.List() {
			s.Devices.Pools(node)
		}
	}
}

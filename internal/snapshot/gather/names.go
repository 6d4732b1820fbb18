package gather

import (
	"context"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Names returns the names of the objects of a resource, such as "pods", in a namespace, sorted. For
// resources without namespaces it is ignored.
func (g *Gatherer) Names(ctx context.Context, resource, namespace string) ([]string, error) {
	var names []string
	err := g.each(ctx, resource, namespace, func(object runtime.Object) {
		if accessor, err := meta.Accessor(object); err == nil {
			names = append(names, accessor.GetName())
		}
	})
	slices.Sort(names)
	return names, err
}

// DeviceNames returns the names of all published devices, sorted: DRIVER/POOL/DEVICE.
func (g *Gatherer) DeviceNames(ctx context.Context) ([]string, error) {
	var names []string
	err := g.each(ctx, "resourceslices", "", func(object runtime.Object) {
		slice, ok := object.(*resourcev1.ResourceSlice)
		if !ok {
			return
		}
		for i := range slice.Spec.Devices {
			names = append(names, fmt.Sprintf("%s/%s/%s", slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name))
		}
	})
	slices.Sort(names)
	return names, err
}

// each calls f for each object of a resource.
func (g *Gatherer) each(ctx context.Context, resource, namespace string, f func(runtime.Object)) error {
	for i := range g.kinds {
		k := &g.kinds[i]
		if k.resource != resource || g.absent[resource] {
			continue
		}
		read, err := readAll(ctx, k, namespace)
		for _, object := range read.objects {
			f(object)
		}
		return err
	}
	return nil
}

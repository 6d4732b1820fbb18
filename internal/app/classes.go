package app

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
)

// createClasses creates a DeviceClass for each driver of the fleet, named after the driver and for
// all its devices, as the installation of a DRA driver does. An existing class is not changed. It
// returns the names of the classes.
func createClasses(ctx context.Context, set *client.Set, opts Options) ([]string, error) {
	drivers := opts.Fleet.Drivers()
	for _, driver := range drivers {
		class := &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: driver},
			Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
				{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}},
			}},
		}
		_, err := set.DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create DeviceClass %s: %w", driver, err)
		}
	}
	return drivers, nil
}

package app

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
)

// createClasses makes a DeviceClass for each driver of the fleet, under the driver's name and for all
// of its devices, as the installation of a DRA driver does. One that exists stays as it is. It
// returns their names.
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

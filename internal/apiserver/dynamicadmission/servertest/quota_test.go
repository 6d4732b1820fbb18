package servertest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestQuotaIsEnforced creates claims and ConfigMaps until a quota is used up. No controller runs:
// the test writes the initial status.
func TestQuotaIsEnforced(t *testing.T) {
	client, err := kubernetes.NewForConfig(server.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	ns, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const devices, maps = "gpu.deviceclass.resource.k8s.io/devices", "count/configmaps"
	hard := corev1.ResourceList{devices: resource.MustParse("3"), maps: resource.MustParse("1")}
	quotas := client.CoreV1().ResourceQuotas(ns.Name)
	q, err := quotas.Create(t.Context(),
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q.Status = corev1.ResourceQuotaStatus{
		Hard: hard,
		Used: corev1.ResourceList{devices: resource.MustParse("0"), maps: resource.MustParse("0")},
	}
	if _, err := quotas.UpdateStatus(t.Context(), q, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := func(count int64) error {
		_, err := client.ResourceV1().ResourceClaims(ns.Name).Create(t.Context(), &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
				Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: count},
			}}}},
		}, metav1.CreateOptions{})
		return err
	}
	eventuallyRefused := func(create func() error, want string) {
		t.Helper()
		for range 100 { // objects that are created before the server has seen the quota are not counted
			err := create()
			if err == nil {
				continue
			}
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			return
		}
		t.Errorf("nothing is refused, want %s", want)
	}
	eventuallyRefused(func() error { return claim(2) },
		"exceeded quota: q, requested: "+devices+"=2, used: "+devices+"=2, limited: "+devices+"=3")
	if err := claim(1); err != nil {
		t.Errorf("the last device: %v", err)
	}
	eventuallyRefused(func() error {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}}
		_, err := client.CoreV1().ConfigMaps(ns.Name).Create(t.Context(), m, metav1.CreateOptions{})
		return err
	}, "exceeded quota: q, requested: "+maps+"=1, used: "+maps+"=1, limited: "+maps+"=1")
}

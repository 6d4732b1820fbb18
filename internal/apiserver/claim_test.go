package apiserver_test

import (
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const claimYAML = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  reservedFor: {apiGroup: example.com, resource: jobs, name: j, uid: "1"}
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: gpu.example.com}}
`

const claimAllocated = `{"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}}`

const claimStatus = `{"status":{
"allocation":{"reservedForAnyPod":true,"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":"n1","device":"gpu-0"}]}},
"reservedFor":[{"apiGroup":"example.com","resource":"jobs","name":"j","uid":"1"}],
"devices":[{"driver":"gpu.example.com","pool":"n1","device":"gpu-0","conditions":[]}]}}`

// allocatedClaim creates a claim that is allocated and reserved.
func allocatedClaim(t *testing.T, ns string) {
	t.Helper()
	create(t, ns, claimYAML)
	client := dynamicClient(t).Resource(claimsResource).Namespace(ns)
	if _, err := client.Patch(t.Context(), "c", types.MergePatchType, []byte(claimAllocated),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	status := strings.ReplaceAll(claimStatus, `"n1"`, `"`+ns+`"`) // each test has its own devices
	if _, err := client.Patch(t.Context(), "c", types.MergePatchType, []byte(status), metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
}

// No second claim is allocated the device, by any client, until the first claim is deallocated
// (F64). A dry run gets the same response.
func TestF64DeviceOfAnotherClaimIsRefused(t *testing.T) {
	ns, other := namespace(t), namespace(t)
	allocatedClaim(t, ns)
	create(t, other, claimYAML)
	claims := dynamicClient(t).Resource(claimsResource)
	status := []byte(strings.ReplaceAll(claimStatus, `"n1"`, `"`+ns+`"`))
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		_, err := claims.Namespace(other).Patch(
			t.Context(),
			"c",
			types.MergePatchType,
			status,
			metav1.PatchOptions{DryRun: dryRun},
			"status",
		)
		if got := causes(t, err); !slices.Equal(got, []string{"status.allocation.devices.results[0]"}) ||
			!strings.Contains(err.Error(), "device is allocated to a claim of another namespace") {
			t.Errorf("fields %v: %v", got, err)
		}
	}
	free := []byte(`{"status":{"allocation":null,"reservedFor":null}}`)
	if _, err := claims.Namespace(ns).Patch(t.Context(), "c", types.MergePatchType, free, metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Namespace(other).Patch(t.Context(), "c", types.MergePatchType, status, metav1.PatchOptions{},
		"status"); err != nil {
		t.Error(err)
	}
}

func claim(t *testing.T, ns string) *unstructured.Unstructured {
	t.Helper()
	c, err := dynamicClient(t).Resource(claimsResource).Namespace(ns).Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOldClientKeepsAddedFieldsOfClaims updates spec and status with a client whose types lack
// allot's fields.
func TestOldClientKeepsAddedFieldsOfClaims(t *testing.T) {
	ns := namespace(t)
	allocatedClaim(t, ns)
	claims := clientset(t, remote(t)).ResourceV1().ResourceClaims(ns)
	c, err := claims.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Labels = map[string]string{"a": "b"}
	if c, err = claims.Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Status.ReservedFor = append(c.Status.ReservedFor,
		resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "2"})
	if _, err = claims.UpdateStatus(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := claim(t, ns)
	if nested(t, got, "spec", "reservedFor", "name") != "j" ||
		nested(t, got, "status", "allocation", "reservedForAnyPod") != "true" {
		t.Errorf("spec.reservedFor %s, allocation %s", nested(t, got, "spec", "reservedFor"),
			nested(t, got, "status", "allocation"))
	}
}

func TestDeallocationDropsTheDriversReports(t *testing.T) {
	ns := namespace(t)
	allocatedClaim(t, ns)
	client := dynamicClient(t).Resource(claimsResource).Namespace(ns)
	if got := nested(t, claim(t, ns), "status", "devices"); got == "<nil>" {
		t.Fatal("no report to begin with")
	}
	body := []byte(`{"status":{"allocation":null,"reservedFor":null}}`)
	if _, err := client.Patch(t.Context(), "c", types.MergePatchType, body, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if got := nested(t, claim(t, ns), "status", "devices"); got != "<nil>" {
		t.Errorf("reports are %s", got)
	}
}

func TestImpossibleClaimsAreRefused(t *testing.T) {
	ns := namespace(t)
	allocatedClaim(t, ns)
	client := dynamicClient(t).Resource(claimsResource).Namespace(ns)
	for _, tt := range []struct{ name, body, field, subresource string }{
		{"spec", `{"spec":{"devices":{"requests":[{"name":"other","exactly":{"deviceClassName":"gpu.example.com"}}]}}}`,
			"spec", ""},
		{"intended consumer", `{"spec":{"reservedFor":{"name":"other"}}}`, "spec", ""},
		{"other device", `{"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":"n1","device":"gpu-1"}]}}}}`, "status.allocation", "status"},
	} {
		var sub []string
		if tt.subresource != "" {
			sub = append(sub, tt.subresource)
		}
		_, err := client.Patch(t.Context(), "c", types.MergePatchType, []byte(tt.body), metav1.PatchOptions{}, sub...)
		if got := causes(t, err); !slices.Contains(got, tt.field) {
			t.Errorf("%s: fields %v, want %s", tt.name, got, tt.field)
		}
	}
	before := claim(t, ns)
	if nested(t, before, "spec", "reservedFor", "name") != "j" {
		t.Error("a refused update left a trace")
	}
}

func TestAdminAccessNeedsTheNamespacesConsent(t *testing.T) {
	ns := namespace(t)
	text := `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: admin}
spec:
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: gpu.example.com, adminAccess: true}}
`
	_, err := tryCreate(t, ns, text)
	if got := causes(t, err); !slices.Equal(got, []string{"spec.devices.requests[0].exactly.adminAccess"}) {
		t.Errorf("fields %v", got)
	}
	_, err = clientset(t, remote(t)).CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryCreate(t, ns, text); err != nil {
		t.Error(err)
	}
}

func TestSlicesAreSelectedByNodeAndDriver(t *testing.T) {
	client := clientset(t, remote(t)).ResourceV1().ResourceSlices()
	driver, first, second := uniqueName("select")+".example.com", uniqueName("select"), uniqueName("select")
	for _, node := range []string{first, second} {
		create(t, "", `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: `+node+`}
spec:
  driver: `+driver+`
  nodeName: `+node+`
  pool: {name: `+node+`, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
`)
	}
	for selector, want := range map[string]int{
		"spec.driver=" + driver: 2, "spec.nodeName=" + first: 1, "spec.pool.name=" + second: 1,
		"spec.driver=other.example.com": 0,
	} {
		list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != want {
			t.Errorf("%s: %d slices, want %d", selector, len(list.Items), want)
		}
	}
	if err := client.Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

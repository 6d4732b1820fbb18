package client

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"
)

// Kinds that only other servers have are read as these send them, and are asked for nowhere else.
func TestCSINodesAreReadFromOtherServers(t *testing.T) {
	count := int32(7)
	list := &storagev1.CSINodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []storagev1.CSINode{{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{
				{Name: "d", NodeID: "i", Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
			},
		},
	}}}
	codec := storageCodecs.EncoderForVersion(protobuf.NewSerializer(storageScheme, storageScheme),
		storagev1.SchemeGroupVersion)
	body, err := runtime.Encode(codec, list)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/storage.k8s.io/v1/csinodes" {
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	set, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.CSINodes().List(t.Context(),
		metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.Items, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if NewInformers(set).Has("csinodes") || !NewInformers(set).With("csinodes").Has("csinodes") {
		t.Error("the kind is looked for on allot's own server, or not on others")
	}
}

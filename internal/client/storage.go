package client

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/gentype"
)

// storageScheme has kinds that allot's own server does not serve, so that api.Scheme lacks them.
var storageScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(storagev1.AddToScheme(scheme))
	return scheme
}()

var storageCodecs = serializer.NewCodecFactory(storageScheme)

// CSINodes is the client of storage.k8s.io/v1 csinodes.
func (s *Set) CSINodes() Client[*storagev1.CSINode, *storagev1.CSINodeList] {
	return Client[*storagev1.CSINode, *storagev1.CSINodeList]{
		ClientWithList: gentype.NewClientWithList("csinodes", s.storage, runtime.NewParameterCodec(storageScheme), "",
			ptrTo[storagev1.CSINode], ptrTo[storagev1.CSINodeList], gentype.PrefersProtobuf[*storagev1.CSINode]()),
		newer: s.dialect.Newer,
	}
}

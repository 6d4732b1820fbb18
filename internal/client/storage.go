package client

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// storageScheme has kinds that allot's own server does not serve, so that api.Scheme lacks them.
var storageScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(storagev1.AddToScheme(scheme))
	return scheme
}()

var storageCodecs = serializer.NewCodecFactory(storageScheme)

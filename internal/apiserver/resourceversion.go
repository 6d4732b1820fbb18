package apiserver

import (
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/allot-dev/allot/internal/apiserver/admission"
)

// withResourceVersion responds to a read whose parameter resourceVersion is no number. The handlers
// of k8s.io/apiserver would respond with 500, or with an event of type ERROR to a watch.
func withResourceVersion(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkResourceVersion(r); err != nil {
			responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{Version: "v1"}, w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func checkResourceVersion(r *http.Request) error {
	info, ok := genericapirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest ||
		!slices.Contains([]string{"get", "list", "watch", "deletecollection"}, info.Verb) {
		return nil
	}
	return admission.CheckResourceVersion(field.NewPath("resourceVersion"), r.URL.Query().Get("resourceVersion"))
}

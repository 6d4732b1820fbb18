package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	openapicontroller "k8s.io/apiextensions-apiserver/pkg/controller/openapi"
	openapiv3controller "k8s.io/apiextensions-apiserver/pkg/controller/openapiv3"
	extensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	endpoints "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/allot-dev/allot/api/openapi"
)

// setOpenAPI sets the OpenAPI definitions, on which server-side apply is based.
func setOpenAPI(cfg *genericapiserver.Config, scheme *runtime.Scheme) error {
	builder, err := openapi.NewBuilder(openapi.Roots(scheme)...)
	if err != nil {
		return err
	}
	var failed error
	// Where both have a definition, of the metadata types, allot's own is used.
	definitions := func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		out := extensionsopenapi.GetOpenAPIDefinitions(ref)
		own, err := builder.Build(ref)
		failed = errors.Join(failed, err)
		maps.Copy(out, own)
		return out
	}
	namer := endpoints.NewDefinitionNamer(scheme, extensions.Scheme)
	cfg.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	cfg.OpenAPIConfig.GetDefinitionName = openapi.Namer(scheme, extensions.Scheme)
	cfg.OpenAPIConfig.Info.Title, cfg.OpenAPIConfig.Info.Version = "allot", KubernetesVersion
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	cfg.OpenAPIV3Config.GetDefinitionName = openapi.Namer(scheme, extensions.Scheme)
	cfg.SkipOpenAPIInstallation = true // see openAPIDocuments
	cfg.OpenAPIV3Config.Info.Title, cfg.OpenAPIV3Config.Info.Version = "allot", KubernetesVersion
	// DefaultOpenAPIV3Config has called definitions; later calls cannot fail otherwise.
	return failed
}

// openAPIDocuments serves the OpenAPI documents of all kinds, custom resources included.
type openAPIDocuments struct {
	cfg    *genericapiserver.Config
	front  *genericapiserver.GenericAPIServer
	custom *extensions.CustomResourceDefinitions
}

// publish begins to serve the documents. It runs as a post-start hook, because the kinds of the
// front server are complete then.
func (d *openAPIDocuments) publish(stop <-chan struct{}) error {
	v3, err := d.publishV3()
	if err != nil {
		return err
	}
	v2 := &openAPIV2{openAPIDocuments: d}
	service := handler.NewOpenAPIService(&v2.static)
	service.RegisterOpenAPIVersionedService("/openapi/v2", v2)

	definitions := d.custom.Informers.Apiextensions().V1().CustomResourceDefinitions()
	go openapicontroller.NewController(definitions).Run(&v2.static, service, stop)
	go openapiv3controller.NewController(definitions).Run(v3, stop)
	return nil
}

// publishV3 serves a document for each group and version of both servers.
func (d *openAPIDocuments) publishV3() (*handler3.OpenAPIService, error) {
	front := d.front.Handler
	service := routes.OpenAPI{V3Config: d.cfg.OpenAPIV3Config}.InstallV3(front.GoRestfulContainer, front.NonGoRestfulMux)
	root := "/apis/" + apiextensionsv1.SchemeGroupVersion.String()
	for _, ws := range d.customServices() {
		if ws.RootPath() != root {
			continue
		}
		document, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{ws}),
			d.cfg.OpenAPIV3Config)
		if err != nil {
			return nil, fmt.Errorf("build OpenAPI v3 of %s: %w", root, err)
		}
		service.UpdateGroupVersion(strings.TrimPrefix(root, "/"), document)
	}
	return service, nil
}

func (d *openAPIDocuments) customServices() []*restful.WebService {
	return d.custom.GenericAPIServer.Handler.GoRestfulContainer.RegisteredWebServices()
}

// openAPIV2 is the document of version 2, which has all kinds. It is built for the first request:
// clients of the last years read version 3, and it would take a tenth of the memory of an idle server.
type openAPIV2 struct {
	*openAPIDocuments
	built  sync.Once
	failed error
	// static has what is not custom. It is empty until it is built, which is before any request is
	// served; custom resources are merged into it for a request too.
	static spec.Swagger
}

// Handle implements common.PathHandler. It registers a handler that needs static.
func (o *openAPIV2) Handle(path string, next http.Handler) {
	o.front.Handler.NonGoRestfulMux.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.built.Do(func() { o.failed = o.build() })
		if o.failed != nil {
			responsewriters.InternalError(w, r, o.failed)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// build fills static.
func (o *openAPIV2) build() error {
	services := o.front.Handler.GoRestfulContainer.RegisteredWebServices()
	for _, ws := range o.customServices() {
		if ws.RootPath() != "/version" {
			services = append(services, ws)
		}
	}
	built, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), o.cfg.OpenAPIConfig)
	if err != nil {
		return fmt.Errorf("build OpenAPI v2: %w", err)
	}
	built.Definitions = handler.PruneDefaults(built.Definitions)
	o.static = *built
	return nil
}

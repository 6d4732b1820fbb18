package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/emicklei/go-restful/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	openapicontroller "k8s.io/apiextensions-apiserver/pkg/controller/openapi"
	openapiv3controller "k8s.io/apiextensions-apiserver/pkg/controller/openapiv3"
	extensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	endpoints "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"

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
	cfg.OpenAPIV3Config.Info.Title, cfg.OpenAPIV3Config.Info.Version = "allot", KubernetesVersion
	// DefaultOpenAPIV3Config has called definitions; later calls cannot fail otherwise.
	return failed
}

// publishOpenAPI adds the OpenAPI definitions of custom resources to those of the front server. It
// runs as a post-start hook, because the front's services do not exist before.
func publishOpenAPI(
	cfg *genericapiserver.Config,
	front *genericapiserver.GenericAPIServer,
	custom *extensions.CustomResourceDefinitions,
	stop <-chan struct{},
) error {
	services := front.Handler.GoRestfulContainer.RegisteredWebServices()
	for _, ws := range custom.GenericAPIServer.Handler.GoRestfulContainer.RegisteredWebServices() {
		if ws.RootPath() != "/version" {
			services = append(services, ws)
		}
	}
	static, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), cfg.OpenAPIConfig)
	if err != nil {
		return fmt.Errorf("build OpenAPI v2: %w", err)
	}
	static.Definitions = handler.PruneDefaults(static.Definitions)
	if err := front.OpenAPIVersionedService.UpdateSpec(static); err != nil {
		return fmt.Errorf("publish OpenAPI v2: %w", err)
	}

	root := "/apis/" + apiextensionsv1.SchemeGroupVersion.String()
	for _, ws := range services {
		if ws.RootPath() != root {
			continue
		}
		v3, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{ws}),
			cfg.OpenAPIV3Config)
		if err != nil {
			return fmt.Errorf("build OpenAPI v3 of %s: %w", root, err)
		}
		front.OpenAPIV3VersionedService.UpdateGroupVersion(strings.TrimPrefix(root, "/"), v3)
	}
	informer := custom.Informers.Apiextensions().V1().CustomResourceDefinitions()
	go openapicontroller.NewController(informer).Run(static, front.OpenAPIVersionedService, stop)
	go openapiv3controller.NewController(informer).Run(front.OpenAPIV3VersionedService, stop)
	return nil
}

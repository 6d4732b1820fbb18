package templatesync

import (
	"context"
	"encoding/json"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	draapiv1beta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

type originalClient = gentype.ClientWithList[*allotv1alpha1.ClusterResourceClaimTemplate, *allotv1alpha1.ClusterResourceClaimTemplateList]

// api accesses a server, which may be another one than allot's.
type api struct {
	discovery discovery.DiscoveryInterface
	originals *originalClient
	metadata  metadata.Interface
	objects   dynamic.Interface
	beta      *runtime.Scheme             // converts templates to older versions
	templates schema.GroupVersionResource // in the version in use, once it is known
}

func newAPI(cfg *rest.Config) (*api, error) {
	a := &api{beta: runtime.NewScheme()}
	var err error
	if a.discovery, err = discovery.NewDiscoveryClientForConfig(cfg); err != nil {
		return nil, err
	}
	if a.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if a.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if err := draapiv1beta1.AddToScheme(a.beta); err != nil {
		return nil, err
	}
	a.originals, err = newOriginalClient(cfg)
	return a, err
}

func newOriginalClient(cfg *rest.Config) (*originalClient, error) {
	scheme := runtime.NewScheme()
	if err := allotv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion = "/apis", &allotv1alpha1.SchemeGroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	// custom resources have no other encoding
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return gentype.NewClientWithList(
		allotv1alpha1.ClusterResourceClaimTemplates.Resource,
		client,
		runtime.NewParameterCodec(scheme),
		"",
		func() *allotv1alpha1.ClusterResourceClaimTemplate {
			return &allotv1alpha1.ClusterResourceClaimTemplate{}
		},
		func() *allotv1alpha1.ClusterResourceClaimTemplateList {
			return &allotv1alpha1.ClusterResourceClaimTemplateList{}
		},
	), nil
}

// templateVersions are the API versions with the same templates, the preferred one first.
var templateVersions = []string{"v1", "v1beta2", "v1beta1"}

// discover determines which version of templates the server has. The error names what is missing.
func (a *api) discover() error {
	ok, err := a.serves(allotv1alpha1.ClusterResourceClaimTemplates)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("the server has no %s: apply what \"allot template-sync manifests\" prints",
			allotv1alpha1.ClusterResourceClaimTemplates.GroupResource())
	}
	for _, version := range templateVersions {
		templates := schema.GroupVersionResource{
			Group:    resourcev1.GroupName,
			Version:  version,
			Resource: "resourceclaimtemplates",
		}
		ok, err := a.serves(templates)
		if err != nil {
			return err
		}
		if ok {
			a.templates = templates
			return nil
		}
	}
	return fmt.Errorf("the server has no resourceclaimtemplates.%s: it needs dynamic resource allocation",
		resourcev1.GroupName)
}

func (a *api) serves(gvr schema.GroupVersionResource) (bool, error) {
	list, err := a.discovery.ServerResourcesForGroupVersion(gvr.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", gvr.GroupVersion(), err)
	}
	for _, r := range list.APIResources {
		if r.Name == gvr.Resource {
			return true, nil
		}
	}
	return false, nil
}

const templateKind = "ResourceClaimTemplate"

// Create creates a template. Only the metadata of the response is used.
func (a *api) Create(
	ctx context.Context, template *resourcev1.ResourceClaimTemplate, dryRun bool,
) (metav1.Object, error) {
	object, err := a.encode(template)
	if err != nil {
		return nil, err
	}
	opts := metav1.CreateOptions{FieldManager: FieldManager}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return a.objects.Resource(a.templates).Namespace(template.Namespace).Create(ctx, object, opts)
}

// encode converts a template to the version in use. v1beta2 has the fields of v1.
func (a *api) encode(template *resourcev1.ResourceClaimTemplate) (*unstructured.Unstructured, error) {
	var typed any = template
	if a.templates.Version == resourcev1beta1.SchemeGroupVersion.Version {
		old := &resourcev1beta1.ResourceClaimTemplate{}
		if err := a.beta.Convert(template, old, nil); err != nil {
			return nil, fmt.Errorf("convert to %s: %w", a.templates.GroupVersion(), err)
		}
		typed = old
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("encode ResourceClaimTemplate: %w", err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(a.templates.GroupVersion().WithKind(templateKind))
	return object, nil
}

// Repair applies the marks, with the UID and the resource version that were read.
func (a *api) Repair(ctx context.Context, seen *Copy, marks metav1.ObjectMeta) error {
	marks.UID, marks.ResourceVersion = seen.UID, seen.ResourceVersion
	patch, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: a.templates.GroupVersion().String(), Kind: templateKind}, ObjectMeta: marks,
	})
	if err != nil {
		return fmt.Errorf("encode marks: %w", err)
	}
	_, err = a.metadata.Resource(a.templates).Namespace(
		seen.Namespace,
	).Patch(ctx, seen.Name, types.ApplyPatchType, patch, forced())
	return err
}

// Delete deletes a copy, unless it has changed.
func (a *api) Delete(ctx context.Context, seen *Copy) error {
	return a.metadata.Resource(a.templates).Namespace(seen.Namespace).Delete(ctx, seen.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion},
	})
}

// WriteStatus applies a status, with a UID precondition.
func (a *api) WriteStatus(
	ctx context.Context, o *Original, status allotv1alpha1.ClusterResourceClaimTemplateStatus,
) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": allotv1alpha1.SchemeGroupVersion.String(), "kind": allotv1alpha1.KindClusterResourceClaimTemplate,
		"metadata": map[string]any{"name": o.Name, "uid": o.UID}, "status": status,
	})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	_, err = a.originals.Patch(ctx, o.Name, types.ApplyPatchType, patch, forced(), "status")
	return err
}

func forced() metav1.PatchOptions {
	force := true
	return metav1.PatchOptions{FieldManager: FieldManager, Force: &force}
}

package servertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const convertedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.conversion.example.com}
spec:
  group: conversion.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {url: $URL, caBundle: $CA}, conversionReviewVersions: [v1]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {measure: {type: integer}}}}
`

// TestConversionWebhook reads and writes a custom resource in a version that only a webhook can
// convert.
func TestConversionWebhook(t *testing.T) {
	hook := httptest.NewTLSServer(http.HandlerFunc(convert))
	t.Cleanup(hook.Close)
	bundle := base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}),
	)
	cfg := rest.CopyConfig(server.Loopback())
	cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("$URL", hook.URL, "$CA", bundle).Replace(convertedCRD)),
		crd); err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	widgets := func(version string) dynamic.ResourceInterface {
		gvr := schema.GroupVersionResource{Group: "conversion.example.com", Version: version, Resource: "widgets"}
		return client.Resource(gvr).Namespace(metav1.NamespaceDefault)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "conversion.example.com/v2", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"measure": int64(3),
	}}
	err = wait.PollUntilContextTimeout(
		t.Context(),
		10*time.Millisecond,
		20*time.Second,
		true,
		func(ctx context.Context) (bool, error) {
			_, err := widgets("v2").Create(ctx, widget, metav1.CreateOptions{})
			return err == nil, nil // the definition is not yet served
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for version, field := range map[string]string{"v1": "size", "v2": "measure"} {
		got, err := widgets(version).Get(t.Context(), "w", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if value := got.Object[field]; value != int64(3) {
			t.Errorf("%s: %s is %v, want 3", version, field, value)
		}
	}
}

// convert responds to a ConversionReview. The field "size" of v1 is "measure" in v2.
func convert(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{
		UID:    review.Request.UID,
		Result: metav1.Status{Status: metav1.StatusSuccess},
	}
	for _, raw := range review.Request.Objects {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		from, to := "size", "measure"
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
			from, to = to, from
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		if value, ok := obj.Object[from]; ok {
			obj.Object[to] = value
			delete(obj.Object, from)
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: obj})
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(w).Encode(review)
}

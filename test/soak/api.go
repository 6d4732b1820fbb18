package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "default"
	// patience limits how long a request may be rejected or unanswered while components are killed.
	patience = 2 * time.Minute
)

// resources are the kinds that the workloads create, directly or indirectly.
var resources = map[string]schema.GroupVersionResource{
	"Pod":                   {Version: "v1", Resource: "pods"},
	"Namespace":             {Version: "v1", Resource: "namespaces"},
	"PersistentVolumeClaim": {Version: "v1", Resource: "persistentvolumeclaims"},
	"ControllerRevision":    {Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	"DaemonSet":             {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Deployment":            {Group: "apps", Version: "v1", Resource: "deployments"},
	"ReplicaSet":            {Group: "apps", Version: "v1", Resource: "replicasets"},
	"StatefulSet":           {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"Job":                   {Group: "batch", Version: "v1", Resource: "jobs"},
	"DeviceClass":           {Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"},
	"ResourceClaim":         {Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"},
	"ResourceClaimTemplate": {Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
	"PodGroup":              {Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
}

// api is the API server, as seen by a user. Requests are retried while the server is not running.
type api struct {
	cfg     *rest.Config
	dynamic dynamic.Interface
}

func connect(kubeconfig string) (*api, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Timeout = -1, 30*time.Second
	client, err := dynamic.NewForConfig(cfg)
	return &api{cfg: cfg, dynamic: client}, err
}

func (a *api) of(kind string) dynamic.ResourceInterface {
	client := a.dynamic.Resource(resources[kind])
	if kind == "DeviceClass" || kind == "Namespace" {
		return client
	}
	return client.Namespace(namespace)
}

// again retries a request until it gets a response; a response with status 4xx is final.
func again(ctx context.Context, request func() error) error {
	var final error
	err := until(ctx, patience, func() error {
		err := request()
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 &&
			!apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
			final = err
			return nil
		}
		return err
	})
	return errors.Join(err, final)
}

// alive returns an error if the server does not respond.
func (a *api) alive(ctx context.Context) error {
	_, err := a.of("Pod").List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// create creates the objects of a manifest. An existing object was created by a request whose
// response was lost.
func (a *api) create(ctx context.Context, manifest string) error {
	for doc := range strings.SplitSeq(manifest, "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(doc)), 4096).Decode(&obj.Object); err != nil {
			return fmt.Errorf("manifest: %w\n%s", err, doc)
		}
		err := again(ctx, func() error {
			_, err := a.of(obj.GetKind()).Create(ctx, obj, metav1.CreateOptions{})
			return err
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

func (a *api) patch(ctx context.Context, kind, name, body string) error {
	err := again(ctx, func() error {
		_, err := a.of(kind).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", kind, name, err)
	}
	return nil
}

func (a *api) remove(ctx context.Context, kind, name string, propagation metav1.DeletionPropagation) error {
	err := again(ctx, func() error {
		return a.of(kind).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", kind, name, err)
	}
	return nil
}

// count returns the number of objects of a kind with a label, and how many of them are in a phase.
func (a *api) count(ctx context.Context, kind, selector, phase string) (all, in int, err error) {
	err = again(ctx, func() error {
		all, in = 0, 0
		list, err := a.of(kind).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for _, obj := range list.Items {
			all++
			if p, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); p == phase &&
				obj.GetDeletionTimestamp() == nil {
				in++
			}
		}
		return nil
	})
	return all, in, err
}

// prepare creates the objects that all workloads use.
func (a *api) prepare(ctx context.Context) error {
	if err := until(ctx, startPatience, func() error { return a.alive(ctx) }); err != nil {
		return err
	}
	return a.create(ctx, `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: soak}
spec: {selectors: [{cel: {expression: 'device.driver == "sim.allot.dev"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: d, exactly: {deviceClassName: soak}}]}}}
`)
}

// nothingLeft waits until everything that was created for the workloads is deleted.
func (a *api) nothingLeft(ctx context.Context) error {
	return until(ctx, patience, func() error {
		for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision", "Job",
			"PodGroup", "Pod", "ResourceClaim"} {
			list, err := a.of(kind).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			if n := len(list.Items); n > 0 {
				return fmt.Errorf("%d objects of kind %s are left, such as %s", n, kind, list.Items[0].GetName())
			}
		}
		return nil
	})
}

// raw returns an HTTP client with the administrator's certificate and without a timeout.
func (a *api) raw() (*http.Client, error) {
	cfg := rest.CopyConfig(a.cfg)
	cfg.Timeout = 0
	return rest.HTTPClientFor(cfg)
}

// narrow returns a client with one connection per request and a small receive buffer. HTTP/2 would
// buffer four megabytes of a response that is not read, and the server would not notice a slow
// reader.
func (a *api) narrow() (*http.Client, error) {
	cfg := rest.CopyConfig(a.cfg)
	cfg.Timeout = 0
	cfg.NextProtos = []string{"http/1.1"}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(narrowBuffer))
		}
		return conn, err
	}
	return rest.HTTPClientFor(cfg)
}

// narrowBuffer is the receive buffer of a slow watch's connection, in bytes.
const narrowBuffer = 4096

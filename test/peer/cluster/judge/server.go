package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// namespace is the namespace of all namespaced objects.
const namespace = "default"

// Rules are the strategies for writes of a resource. Status is nil without a status subresource.
type Rules struct {
	Create rest.RESTCreateStrategy
	Update rest.RESTUpdateStrategy
	Status rest.RESTUpdateStrategy
}

// Server is the part of one side's API server without storage, admission and authorization.
type Server struct {
	Name   string
	Scheme *runtime.Scheme
	Codecs serializer.CodecFactory
	Rules  map[schema.GroupResource]Rules
	// Table returns the columns and the row of an object.
	Table func(gvk schema.GroupVersionKind, obj runtime.Object) (*metav1.Table, error)
}

// Request is a request of a client. Old is empty for a creation.
type Request struct {
	Resource schema.GroupVersionResource
	Kind     string
	Verb     string // create, update, status
	Old, New []byte
}

// GroupKind returns the kind with its group, such as Pod or Deployment.apps: Events are in two groups.
func (r Request) GroupKind() string {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Kind}.String()
}

// errOld is the response to a change of an object that the server does not have, because it
// rejected it.
var errOld = errors.New("the old object is refused")

// Answer is the response of a server to a request.
type Answer struct {
	// NoObject means that there is nothing to change, because the server rejected the old object.
	NoObject bool
	// Panic is the value of a panic in the server.
	Panic string
	// Error is a rejection without causes, such as JSON of a wrong type.
	Error string
	// Code is the HTTP code of a rejection.
	Code int32
	// Causes are "type field", sorted, without duplicates.
	Causes []string
	// Texts are the complete causes.
	Texts []string
	// Objects has the object as it would be stored, as JSON, by version.
	Objects map[string]any
	Columns []metav1.TableColumnDefinition
	Cells   []any
}

// Accepted reports whether the object would be stored.
func (a Answer) Accepted() bool { return a.Panic == "" && a.Error == "" && len(a.Causes) == 0 }

func (s *Server) json() runtime.Serializer {
	info, _ := runtime.SerializerInfoForMediaType(s.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return info.Serializer
}

func (s *Server) decode(r Request, data []byte) (runtime.Object, error) {
	hub := schema.GroupVersion{Group: r.Resource.Group, Version: runtime.APIVersionInternal}
	obj, gvk, err := s.Codecs.DecoderToVersion(s.json(), hub).Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	if gvk.Kind != r.Kind || gvk.GroupVersion() != r.Resource.GroupVersion() {
		return nil, fmt.Errorf("a %s was sent", gvk)
	}
	return obj, nil
}

func (r Request) context(namespaced bool) context.Context {
	info := &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIPrefix: "apis",
		APIGroup: r.Resource.Group, APIVersion: r.Resource.Version, Resource: r.Resource.Resource,
	}
	if r.Verb != "create" {
		info.Verb = "update"
	}
	if r.Verb == "status" {
		info.Subresource = "status"
	}
	ctx := genericapirequest.WithUser(context.Background(),
		&user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}})
	if namespaced {
		info.Namespace = namespace
		ctx = genericapirequest.WithNamespace(ctx, namespace)
	} else {
		ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	}
	return genericapirequest.WithRequestInfo(ctx, info)
}

// Ask returns the response of the server to a request. A panic, which an API server returns as an
// internal error, is in Answer.Panic.
func (s *Server) Ask(r Request, versions []string) (answer Answer) {
	defer func() {
		if v := recover(); v != nil {
			answer = Answer{Panic: fmt.Sprint(v)}
		}
	}()
	obj, err := s.write(r)
	if err != nil {
		return refusal(err)
	}
	return s.show(r, obj, versions)
}

func (s *Server) write(r Request) (runtime.Object, error) {
	rules := s.Rules[r.Resource.GroupResource()]
	ctx := r.context(rules.Create.NamespaceScoped())
	if r.Verb == "create" {
		return s.create(ctx, r, r.New)
	}
	old, err := s.create(ctx, r, r.Old)
	if err != nil {
		return nil, errOld
	}
	m, err := meta.Accessor(old)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion("7")
	obj, err := s.decode(r, r.New)
	if err != nil {
		return nil, err
	}
	if m, err = meta.Accessor(obj); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() == "" {
		m.SetResourceVersion("7")
	}
	strategy := rules.Update
	if r.Verb == "status" {
		strategy = rules.Status
	}
	return obj, rest.BeforeUpdate(strategy, ctx, obj, old)
}

func (s *Server) create(ctx context.Context, r Request, data []byte) (runtime.Object, error) {
	rules := s.Rules[r.Resource.GroupResource()]
	obj, err := s.decode(r, data)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
	m.SetUID(types.UID("uid"))
	m.SetResourceVersion("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + "x")
	}
	if rules.Create.NamespaceScoped() && m.GetNamespace() == "" {
		m.SetNamespace(namespace)
	}
	return obj, rest.BeforeCreate(rules.Create, ctx, obj)
}

func refusal(err error) Answer {
	if errors.Is(err, errOld) {
		return Answer{NoObject: true, Error: err.Error()}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return Answer{Error: err.Error(), Code: http.StatusBadRequest} // the object cannot be read
	}
	a := Answer{Code: status.Status().Code}
	if details := status.Status().Details; details == nil || len(details.Causes) == 0 {
		a.Error = err.Error()
		return a
	}
	for _, c := range status.Status().Details.Causes {
		a.Causes = append(a.Causes, string(c.Type)+" "+c.Field)
		a.Texts = append(a.Texts, c.Field+": "+c.Message)
	}
	slices.Sort(a.Causes)
	a.Causes = slices.Compact(a.Causes)
	slices.Sort(a.Texts)
	return a
}

func (s *Server) show(r Request, obj runtime.Object, versions []string) Answer {
	a := Answer{Objects: map[string]any{}}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: r.Resource.Group, Version: version}
		data, err := runtime.Encode(s.Codecs.EncoderForVersion(s.json(), gv), obj.DeepCopyObject())
		if err != nil {
			return Answer{Error: version + ": " + err.Error()}
		}
		var shown map[string]any
		if err := json.Unmarshal(data, &shown); err != nil {
			return Answer{Error: version + ": " + err.Error()}
		}
		a.Objects[version] = shown
	}
	table, err := s.Table(r.Resource.GroupVersion().WithKind(r.Kind), obj)
	if err != nil {
		return Answer{Error: "table: " + err.Error()}
	}
	a.Columns = table.ColumnDefinitions
	if len(table.Rows) == 1 {
		a.Cells = table.Rows[0].Cells
	}
	return a
}

// plural returns the resource of a kind, in lower case.
func plural(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case kind == "endpoints":
		return kind
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

package cluster

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// templateKey identifies a template. The namespace of a ClusterResourceClaimTemplate is "".
type templateKey struct {
	namespace string
	source    claims.Source
}

func keyOfTemplate(namespace string, source claims.Source) templateKey {
	if source.Kind == claims.ClusterTemplate {
		namespace = ""
	}
	return templateKey{namespace, source}
}

// templates finds the templates that pods wait for, and records the waiting pods of each. It
// belongs to the goroutine that applies the changes.
type templates struct {
	namespaced Cache[*resource.ResourceClaimTemplate]
	cluster    Cache[*resourcev1alpha3.ClusterResourceClaimTemplate]
	pods       map[templateKey]map[model.Key]bool
	ofPod      map[model.Key][]templateKey
}

func newTemplates(caches *Caches) *templates {
	t := &templates{
		namespaced: caches.Templates,
		pods:       map[templateKey]map[model.Key]bool{},
		ofPod:      map[model.Key][]templateKey{},
	}
	if caches.Features.On(features.ClusterTemplates) {
		t.cluster = caches.ClusterTemplates
	}
	return t
}

// exists reports whether a template exists, as far as that is known.
func (t *templates) exists(key templateKey) bool {
	switch {
	case key.source.Kind == claims.NamespacedTemplate && t.namespaced != nil:
		_, ok := t.namespaced.Get(key.namespace, key.source.Name)
		return ok
	case key.source.Kind == claims.ClusterTemplate && t.cluster != nil:
		_, ok := t.cluster.Get("", key.source.Name)
		return ok
	}
	return true
}

// get returns a function that finds the templates of the claims of pods in a namespace.
func (t *templates) get(namespace string) func(claims.Source) (claims.Template, bool) {
	return func(source claims.Source) (claims.Template, bool) {
		if source.Kind != claims.NamespacedTemplate || t.namespaced == nil {
			return claims.Template{}, false
		}
		template, ok := t.namespaced.Get(namespace, source.Name)
		if !ok {
			return claims.Template{}, false
		}
		return claims.FromTemplate(template), true
	}
}

// lookUp returns the resolutions of a pod's entries, with the templates that do not exist as the
// reason why claims were not generated. The pod waits for all templates of such claims: those that
// exist may be deleted first.
func (t *templates) lookUp(pod model.Key, resolutions []claims.Resolution) []claims.Resolution {
	t.forget(pod)
	for i := range resolutions {
		r := &resolutions[i]
		if r.Problem == nil || r.Problem.Reason != claims.NotGenerated || !r.Source.Generated() {
			continue
		}
		key := keyOfTemplate(pod.Namespace, r.Source)
		if t.pods[key] == nil {
			t.pods[key] = map[model.Key]bool{}
		}
		t.pods[key][pod] = true
		t.ofPod[pod] = append(t.ofPod[pod], key)
		if !t.exists(key) {
			*r = r.WithoutTemplate()
		}
	}
	return resolutions
}

// forget removes a pod from the waiting pods.
func (t *templates) forget(pod model.Key) {
	for _, key := range t.ofPod[pod] {
		delete(t.pods[key], pod)
		if len(t.pods[key]) == 0 {
			delete(t.pods, key)
		}
	}
	delete(t.ofPod, pod)
}

// followTemplates subscribes to templates of both kinds.
func (f *Feed) followTemplates(caches *Caches) {
	if caches.Templates != nil {
		caches.Templates.OnChange(func(old, now *resource.ResourceClaimTemplate) {
			if old == nil || now == nil {
				f.add(f.templateChange(claims.NamespacedTemplate, model.KeyOf(either(old, now))))
			}
		})
	}
	if caches.ClusterTemplates != nil {
		caches.ClusterTemplates.OnChange(func(old, now *resourcev1alpha3.ClusterResourceClaimTemplate) {
			if old == nil || now == nil {
				f.add(f.templateChange(claims.ClusterTemplate, model.KeyOf(either(old, now))))
			}
		})
	}
}

// either returns the value that is not nil.
func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// templateChange updates the pods that wait for a template which was created or deleted.
func (f *Feed) templateChange(kind claims.SourceKind, key model.Key) change {
	return func(s *model.State) []model.Topic {
		var waiting []*core.Pod
		for pod := range f.templates.pods[keyOfTemplate(key.Namespace, claims.Source{Kind: kind, Name: key.Name})] {
			if seen, ok := f.pods.Get(pod.Namespace, pod.Name); ok {
				waiting = append(waiting, seen)
			}
		}
		var topics []model.Topic
		for _, pod := range waiting {
			topics = append(topics, f.putPod(s, pod)...)
		}
		return topics
	}
}

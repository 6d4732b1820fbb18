package deployment

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey // pod-template-hash

var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// sameTemplate compares two templates without the hash label.
func sameTemplate(a, b *core.PodTemplateSpec) bool {
	x, y := *a, *b
	x.Labels, y.Labels = withoutHash(a.Labels), withoutHash(b.Labels)
	return equality.Semantic.DeepEqual(&x, &y)
}

func withoutHash(labels map[string]string) map[string]string {
	rest := cloneMap(labels)
	delete(rest, hashLabel)
	return rest
}

// hashOf returns a hash of the template, with all fields that allot adds. It hashes the JSON form,
// so that it does not change when a later version adds optional fields. collisions changes the hash
// of a template if its name is taken.
func hashOf(template *core.PodTemplateSpec, collisions *int32) (string, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return "", err
	}
	hash := fnv.New32a()
	hash.Write(text)
	if collisions != nil {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(*collisions)))
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32())), nil
}

// create adds the set for the current template, as large as permitted.
func (r *rollout) create() {
	d := r.d
	hash, err := hashOf(&d.Spec.Template, d.Status.CollisionCount)
	if err != nil {
		panic(err) // the template was decoded from JSON or protobuf, so that it can be encoded
	}
	template := *d.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	size := int32(0)
	r.current = &set{ReplicaSet: &apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            setName(d.Name, hash),
			Labels:          template.Labels,
			Annotations:     map[string]string{},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: apps.ReplicaSetSpec{
			Replicas:        &size,
			MinReadySeconds: d.Spec.MinReadySeconds,
			Selector:        selector,
			Template:        template,
		},
	}}
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		size = r.replicas
	} else {
		size = r.room(0)
	}
	r.inheritAnnotations(r.current)
	r.raiseRevision(r.current)
	r.recordSize(r.current)
	d.Annotations[revisionAnnotation] = r.current.Annotations[revisionAnnotation]
	if r.hasDeadline() {
		r.setProgressing(corev1.ConditionTrue, "NewReplicaSetCreated",
			fmt.Sprintf("Created new replica set %q", r.current.Name))
	}
}

func withHash(labels map[string]string, hash string) map[string]string {
	labels = cloneMap(labels)
	labels[hashLabel] = hash
	return labels
}

// setName returns the name of the Deployment, truncated if necessary, and the hash.
func setName(deployment, hash string) string {
	longest := validation.DNS1123SubdomainMaxLength - len("-") - len(hash)
	return deployment[:min(len(deployment), longest)] + "-" + hash
}

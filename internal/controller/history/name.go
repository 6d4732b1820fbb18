package history

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Hash returns the label that distinguishes revisions of one parent, or the name of a revision
// without it.
func Hash(revision *appsv1.ControllerRevision, label string) string {
	if hash, ok := revision.Labels[label]; ok {
		return hash
	}
	return revision.Name
}

// newRevision returns a revision of the current template with this number. It has the annotations
// of the parent, of which kubectl shows the change cause.
func newRevision(p Parent, number int64) (*appsv1.ControllerRevision, error) {
	data, err := encode(p.Template)
	if err != nil {
		return nil, err
	}
	hash := hashOf(data, p.Collisions)
	labels := map[string]string{}
	maps.Copy(labels, p.Template.Labels)
	labels[p.HashLabel] = hash
	annotations := maps.Clone(p.Owner.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation) // describes the parent, and is long
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       p.Owner.GetNamespace(),
			Name:            nameOf(p.Owner.GetName(), hash),
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Owner, p.Kind)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}, nil
}

// hashOf returns a hash that differs for each number of collisions.
func hashOf(data []byte, collisions int32) string {
	hash := fnv.New32a()
	hash.Write(data)
	if collisions > 0 {
		hash.Write([]byte(strconv.Itoa(int(collisions))))
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// nameOf returns the parent's name, truncated if necessary, and the hash.
func nameOf(parent, hash string) string {
	longest := validation.DNS1123SubdomainMaxLength - len("-") - len(hash)
	return parent[:min(len(parent), longest)] + "-" + hash
}

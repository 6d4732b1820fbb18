package printers

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// Deployment returns the printer of Deployments.
func Deployment() Printer {
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Ready", "string", "The number of pods that are ready, of the desired number."),
		column("Up-to-date", "string", appsv1.DeploymentStatus{}, "updatedReplicas"),
		column("Available", "string", appsv1.DeploymentStatus{}, "availableReplicas"),
		ageColumn(),
	}, templateColumns(column("Selector", "string", appsv1.DeploymentSpec{}, "selector"))...),
		func(d *apps.Deployment, now time.Time) []any {
			names, images := containers(d.Spec.Template.Spec.Containers)
			return []any{
				d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 1)),
				int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), age(d.CreationTimestamp, now),
				names, images, selector(d.Spec.Selector),
			}
		})
}

// ReplicaSet returns the printer of ReplicaSets.
func ReplicaSet() Printer {
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Desired", "integer", appsv1.ReplicaSetSpec{}, "replicas"),
		column("Current", "integer", appsv1.ReplicaSetStatus{}, "replicas"),
		column("Ready", "integer", appsv1.ReplicaSetStatus{}, "readyReplicas"),
		ageColumn(),
	}, templateColumns(column("Selector", "string", appsv1.ReplicaSetSpec{}, "selector"))...),
		func(r *apps.ReplicaSet, now time.Time) []any {
			names, images := containers(r.Spec.Template.Spec.Containers)
			return []any{
				r.Name, int64(ptr.Deref(r.Spec.Replicas, 1)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
				age(r.CreationTimestamp, now), names, images, metav1.FormatLabelSelector(r.Spec.Selector),
			}
		})
}

func templateColumns(selector metav1.TableColumnDefinition) []metav1.TableColumnDefinition {
	return append(containerColumns(), wideOnly(selector))
}

func containerColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		wideOnly(computedColumn("Containers", "string", "The names of the template's containers.")),
		wideOnly(computedColumn("Images", "string", "The images of the template's containers.")),
	}
}

func containers(list []corev1.Container) (names, images string) {
	n, i := make([]string, len(list)), make([]string, len(list))
	for k := range list {
		n[k], i[k] = list[k].Name, list[k].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func selector(s *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "<invalid>"
	}
	return parsed.String()
}

// StatefulSet returns the printer of StatefulSets.
func StatefulSet() Printer {
	columns := []metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Ready", "string", "The number of pods that are ready, of the desired number."),
		ageColumn(),
	}
	return typed(append(columns, containerColumns()...), func(s *apps.StatefulSet, now time.Time) []any {
		names, images := containers(s.Spec.Template.Spec.Containers)
		return []any{
			s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 1)), age(s.CreationTimestamp, now),
			names, images,
		}
	})
}

// DaemonSet returns the printer of DaemonSets.
func DaemonSet() Printer {
	status := appsv1.DaemonSetStatus{}
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Desired", "integer", status, "desiredNumberScheduled"),
		column("Current", "integer", status, "currentNumberScheduled"),
		column("Ready", "integer", status, "numberReady"),
		column("Up-to-date", "integer", status, "updatedNumberScheduled"),
		column("Available", "integer", status, "numberAvailable"),
		column("Node Selector", "string", corev1.PodSpec{}, "nodeSelector"),
		ageColumn(),
	}, templateColumns(column("Selector", "string", appsv1.DaemonSetSpec{}, "selector"))...),
		func(d *apps.DaemonSet, now time.Time) []any {
			names, images := containers(d.Spec.Template.Spec.Containers)
			return []any{
				d.Name, int64(d.Status.DesiredNumberScheduled), int64(d.Status.CurrentNumberScheduled), int64(d.Status.NumberReady),
				int64(
					d.Status.UpdatedNumberScheduled,
				), int64(d.Status.NumberAvailable), labels.FormatLabels(d.Spec.Template.Spec.NodeSelector),
				age(d.CreationTimestamp, now), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
			}
		})
}

// ControllerRevision returns the printer of ControllerRevisions.
func ControllerRevision() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Controller", "string", "The object of whose template this is a revision."),
		column("Revision", "string", appsv1.ControllerRevision{}, "revision"),
		ageColumn(),
	}, func(r *appsv1.ControllerRevision, now time.Time) []any {
		controller := "<none>"
		if ref := metav1.GetControllerOf(r); ref != nil {
			kind := strings.ToLower(ref.Kind)
			if group, _, ok := strings.Cut(ref.APIVersion, "/"); ok {
				kind += "." + group
			}
			controller = kind + "/" + ref.Name
		}
		return []any{r.Name, controller, r.Revision, age(r.CreationTimestamp, now)}
	})
}

// ReplicationController returns the printer of ReplicationControllers.
func ReplicationController() Printer {
	spec, status := corev1.ReplicationControllerSpec{}, corev1.ReplicationControllerStatus{}
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Desired", "integer", spec, "replicas"),
		column("Current", "integer", status, "replicas"),
		column("Ready", "integer", status, "readyReplicas"),
		ageColumn(),
	}, templateColumns(column("Selector", "string", spec, "selector"))...),
		func(r *core.ReplicationController, now time.Time) []any {
			var names, images string
			if t := r.Spec.Template; t != nil {
				names, images = containers(t.Spec.Containers)
			}
			return []any{
				r.Name, int64(ptr.Deref(r.Spec.Replicas, 0)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
				age(r.CreationTimestamp, now), names, images, labels.FormatLabels(r.Spec.Selector),
			}
		})
}

// PodTemplate returns the printer of PodTemplates.
func PodTemplate() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Containers", "string", "The names of the template's containers."),
		computedColumn("Images", "string", "The images of the template's containers."),
		computedColumn("Pod Labels", "string", "The labels of the template."),
	}, func(t *core.PodTemplate, _ time.Time) []any {
		names, images := containers(t.Template.Spec.Containers)
		return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
	})
}

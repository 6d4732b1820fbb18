package deployment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

const (
	// revisionAnnotation is the revision of a template; kubectl rollout reads it.
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation lists the earlier revisions of a set that became current again.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	// maxHistory is the maximum length of the history in characters; the oldest entries are
	// dropped.
	maxHistory = 2000
)

// isOwnAnnotation reports whether an annotation of the Deployment is not copied to its sets.
func isOwnAnnotation(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation,
		desiredAnnotation, maxAnnotation, appsv1.DeprecatedRollbackTo:
		return true
	}
	return false
}

// syncCurrent updates annotations, minReadySeconds and revision of the current set, if it exists.
func (r *rollout) syncCurrent() {
	s := r.current
	if s == nil {
		return
	}
	r.inheritAnnotations(s)
	r.raiseRevision(s)
	if s.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		s.makeEditable()
		s.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
	}
	r.d.Annotations[revisionAnnotation] = s.Annotations[revisionAnnotation]
	if r.hasDeadline() && condition(&r.d.Status, appsv1.DeploymentProgressing) == nil {
		r.setProgressing(corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", s.Name))
	}
}

func (r *rollout) inheritAnnotations(s *set) {
	for key, value := range r.d.Annotations {
		if !isOwnAnnotation(key) {
			r.annotate(s, key, value)
		}
	}
}

// raiseRevision makes s the newest revision. A set with an earlier revision is the target of a
// rollback; its old number is kept in the history.
func (r *rollout) raiseRevision(s *set) {
	newest := r.lastRevision() + 1
	old, had := s.Annotations[revisionAnnotation]
	number, err := parseRevision(old)
	if err != nil || number >= newest {
		return
	}
	if had {
		if history, ok := extendHistory(s.Annotations[historyAnnotation], old); ok {
			r.annotate(s, historyAnnotation, history)
		}
	}
	r.annotate(s, revisionAnnotation, strconv.FormatInt(newest, 10))
}

// lastRevision returns the highest revision of the old sets.
func (r *rollout) lastRevision() int64 {
	var last int64
	for _, s := range r.old {
		if n, err := parseRevision(s.Annotations[revisionAnnotation]); err == nil {
			last = max(last, n)
		}
	}
	return last
}

func parseRevision(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// extendHistory appends a revision and drops the oldest ones if necessary. ok is false if it does
// not fit.
func extendHistory(history, revision string) (extended string, ok bool) {
	if history == "" {
		return revision, true
	}
	extended = history + "," + revision
	for len(extended) > maxHistory {
		_, rest, found := strings.Cut(extended, ",")
		if !found {
			return "", false
		}
		extended = rest
	}
	return extended, true
}

func (r *rollout) cleanUpWhenComplete() {
	if isComplete(r.d, &r.d.Status) {
		r.cleanUp()
	}
}

// cleanUp removes the oldest revisions beyond spec.revisionHistoryLimit. A set that has or wants
// pods is kept, and no newer set is removed in its place.
func (r *rollout) cleanUp() {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return
	}
	alive := slices.DeleteFunc(slices.Clone(r.old), func(s *set) bool { return s.DeletionTimestamp != nil })
	slices.SortStableFunc(alive, func(a, b *set) int { return byRevision(a.ReplicaSet, b.ReplicaSet) })
	for _, s := range alive[:max(0, len(alive)-int(*limit))] {
		s.remove = s.Status.Replicas == 0 && s.size() == 0 && s.Generation <= s.Status.ObservedGeneration
	}
}

func byRevision(a, b *apps.ReplicaSet) int {
	x, errX := parseRevision(a.Annotations[revisionAnnotation])
	y, errY := parseRevision(b.Annotations[revisionAnnotation])
	if errX != nil || errY != nil {
		return byAge(a, b)
	}
	return cmp.Or(cmp.Compare(x, y), byAge(a, b))
}

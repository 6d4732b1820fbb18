package tokencleaner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

type world struct {
	refuse  error
	deleted int
	added   int
	later   []time.Duration
}

func (w *world) DeleteSecret(context.Context, *corev1.Secret) error { w.deleted++; return w.refuse }
func (w *world) Add(types.NamespacedName)                           { w.added++ }
func (w *world) AddAfter(_ types.NamespacedName, d time.Duration)   { w.later = append(w.later, d) }

func TestExpiredTokensAreDeleted(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	refused := errors.New("no")
	resource := corev1.Resource("secrets")
	for name, c := range map[string]struct {
		expiration   string
		change       func(*corev1.Secret)
		refuse, want error
		deleted      int
		later        []time.Duration
	}{
		"expired":           {expiration: "2026-01-02T12:00:00Z", deleted: 1},
		"in another zone":   {expiration: "2026-01-02T13:30:00+01:30", deleted: 1},
		"not yet":           {expiration: "2026-01-02T12:00:05Z", later: []time.Duration{5 * time.Second}},
		"never":             {},
		"unreadable":        {expiration: "tomorrow"},
		"of another type":   {expiration: "2026-01-02T11:00:00Z", change: func(s *corev1.Secret) { s.Type = "other" }},
		"being deleted":     {expiration: "2026-01-02T11:00:00Z", change: func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: now} }},
		"deleted by now":    {expiration: "2026-01-02T11:00:00Z", refuse: apierrors.NewNotFound(resource, "s"), deleted: 1},
		"changed by now":    {expiration: "2026-01-02T11:00:00Z", refuse: apierrors.NewConflict(resource, "s", refused), deleted: 1},
		"cannot be deleted": {expiration: "2026-01-02T11:00:00Z", refuse: refused, want: refused, deleted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "s"}, Type: "bootstrap.kubernetes.io/token",
				Data: map[string][]byte{"expiration": []byte(c.expiration)},
			}
			if c.change != nil {
				c.change(secret)
			}
			w := &world{refuse: c.refuse}
			cache := memcache.New[*corev1.Secret]()
			controller := &Controller{secrets: cache, server: w, clock: testclock.NewFakePassiveClock(now), queue: w}
			cache.OnChange(controller.onSecret)
			cache.Put(secret)
			if err := controller.Reconcile(t.Context(), reconciler.KeyOf(secret)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if w.deleted != c.deleted || !slices.Equal(w.later, c.later) || w.added != max(c.deleted, len(c.later)) {
				t.Errorf("deleted %d times, enqueued %d times and %v later", w.deleted, w.added, w.later)
			}
			cache.Delete("kube-system", "s")
			if err := controller.Reconcile(t.Context(), reconciler.KeyOf(secret)); err != nil {
				t.Errorf("a secret that does not exist: %v", err)
			}
		})
	}
}

package eviction

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (rt roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return rt(r) }

// The condition is not written again if its first write succeeded without a response, because the
// pod's version has changed.
func TestConditionIsForOneVersionOfThePod(t *testing.T) {
	var sent struct{ Metadata metav1.ObjectMeta }
	answer := roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		return nil, errors.New("no answer")
	})
	set, err := client.New(&rest.Config{Host: "https://allot.invalid", Transport: answer})
	if err != nil {
		t.Fatal(err)
	}
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", ResourceVersion: "7"}}
	if err := NewServer(set).MarkDisrupted(context.Background(), pod,
		corev1.PodCondition{Type: corev1.DisruptionTarget}); err == nil {
		t.Error("no error without an answer")
	}
	if sent.Metadata.UID != "u" || sent.Metadata.ResourceVersion != "7" {
		t.Errorf("the patch is for %q as of %q", sent.Metadata.UID, sent.Metadata.ResourceVersion)
	}
}

package servertest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// webhookServer is an HTTPS server that responds to reviews as a scenario defines, by path.
type webhookServer struct {
	*httptest.Server

	mu sync.Mutex
	// answers are the lines that define the response to a review, by path.
	answers map[string][]string
	calls   []string
}

func newWebhookServer(t *testing.T) *webhookServer {
	t.Helper()
	s := &webhookServer{answers: map[string][]string{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.respond))
	t.Cleanup(s.Server.Close)
	return s
}

// bundle returns the certificate of the server as a caBundle.
func (s *webhookServer) bundle() string {
	return base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	)
}

func (s *webhookServer) setAnswers(path string, answer []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = answer
}

// takeCalls returns the calls since it was last called.
func (s *webhookServer) takeCalls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

func (s *webhookServer) respond(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	answer := slices.Clone(s.answers[r.URL.Path])
	s.calls = append(s.calls, call(r.URL.Path, review.Request))
	s.mu.Unlock()
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	for _, line := range answer {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "allow":
		case "deny":
			response.Allowed, response.Result = false, &metav1.Status{Message: rest, Code: http.StatusForbidden}
		case "patch":
			kind := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = []byte(rest), &kind
		case "warn":
			response.Warnings = append(response.Warnings, rest)
		case "hang":
			<-r.Context().Done()
			return
		case "status":
			http.Error(w, rest, http.StatusTeapot)
			return
		case "say":
			fmt.Fprint(w, rest)
			return
		}
	}
	review.Response = response
	_ = json.NewEncoder(w).Encode(review)
}

// call describes a review: the operation, the resource with its version, and the kind of request.
func call(path string, r *admissionv1.AdmissionRequest) string {
	out := fmt.Sprintf("called %s: %s %s/%s %s", path, r.Operation, r.Resource.Version, r.Resource.Resource, r.Kind.Kind)
	if r.SubResource != "" {
		out += " " + r.SubResource
	}
	if r.DryRun != nil && *r.DryRun {
		out += " (dry run)"
	}
	if r.OldObject.Raw != nil {
		out += " (old)"
	}
	return out
}

package apiserver

import (
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// TestLongRunning checks that kubectl logs -f and attach outlast the request timeout of a minute,
// which once ended them.
func TestLongRunning(t *testing.T) {
	resolver := &genericapirequest.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	const pod = "/api/v1/namespaces/default/pods/p"
	for _, c := range []struct {
		method, url string
		want        bool
	}{
		{"GET", pod, false},
		{"GET", pod + "/status", false},
		{"POST", pod + "/binding", false},
		{"GET", "/api/v1/pods?watch=true", true},
		{"DELETE", "/api/v1/namespaces/default/pods", true},
		{"DELETE", pod, false},
		{"GET", pod + "/log?follow=true", true},
		{"GET", pod + "/attach", true},
		{"POST", pod + "/exec", true},
		{"POST", pod + "/portforward", true},
	} {
		request := httptest.NewRequestWithContext(t.Context(), c.method, c.url, nil)
		info, err := resolver.NewRequestInfo(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := longRunning()(request, info); got != c.want {
			t.Errorf("%s %s: long-running %t, want %t", c.method, c.url, got, c.want)
		}
	}
}

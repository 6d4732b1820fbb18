package inmemory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func client(h http.HandlerFunc) *http.Client {
	t := &Transport{}
	t.Serve(h)
	return &http.Client{Transport: t}
}

func TestUnary(t *testing.T) {
	c := client(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Header.Del("Authorization")
		w.Header().Set("X-Got", r.Method+" "+r.RequestURI)
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "1")
		fmt.Fprintf(w, "echo %s", b)
	})
	req, err := http.NewRequest(http.MethodPost, "https://server/a%2Fb?q=1", strings.NewReader("hi"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusCreated || string(b) != "echo hi" || resp.ContentLength != 7 {
		t.Errorf("got %d %q length %d", resp.StatusCode, b, resp.ContentLength)
	}
	if got := resp.Header.Get("X-Got"); got != "POST /a%2Fb?q=1" {
		t.Errorf("handler saw %q", got)
	}
	if resp.Header.Get("X-Late") != "" {
		t.Error("a header set after WriteHeader was sent")
	}
	if req.Header.Get("Authorization") == "" {
		t.Error("the handler changed the client's request")
	}
}

func TestStreamAndClose(t *testing.T) {
	ended := make(chan struct{})
	c := client(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "event %d\n", i); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			if i == 2 {
				<-r.Context().Done()
				return
			}
		}
	})
	resp, err := c.Get("https://server/watch")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("event %d", i) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
	}
	resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("handler goes on after the client closed the stream")
	}
}

func TestCancelEndsAWaitingRequest(t *testing.T) {
	c := client(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline error", err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	c := client(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if resp, err := c.Get("https://server/"); err == nil {
		resp.Body.Close()
		t.Error("no error from a handler that panics")
	}
	c = client(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := c.Get("https://server/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("no error from a stream whose handler panics")
	}
}

func TestNotServing(t *testing.T) {
	c := &http.Client{Transport: &Transport{}}
	resp, err := c.Get("https://server/")
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, ErrNotServing) {
		t.Errorf("got %v, want %v", err, ErrNotServing)
	}
}

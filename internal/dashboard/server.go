package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

// policy lets the page load its own files, and send requests to its own server, alone. No text can
// become HTML or a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Server serves the page of one View.
type Server struct {
	view     *View
	follow   func() // begins to follow the cluster
	token    string
	hosts    []string // permitted values of the Host header
	listener net.Listener
	page     http.Handler // serves the files
}

// Listen returns a Server that listens on a loopback address. follow is called at each request of
// the stream, so that nothing is read before a page is open.
func Listen(address string, view *View, follow func()) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the dashboard: %w", err)
	}
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not a loopback address", listener.Addr()), listener.Close())
	}
	s := &Server{
		view: view, follow: follow, token: rand.Text(), listener: listener,
		hosts: []string{at.String(), fmt.Sprintf("localhost:%d", at.Port)},
	}
	page, err := fs.Sub(files, "page")
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.page = http.FileServerFS(page)
	return s, nil
}

// URL returns the link to the page, with its token.
func (s *Server) URL() string { return fmt.Sprintf("http://%s/%s/", s.listener.Addr(), s.token) }

// headerTimeout limits the time in which a client sends the header of a request.
const headerTimeout = 5 * time.Second

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: 1 << 14,
		// Streams end with ctx.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	return nil
}

// ServeHTTP serves what is below the link. It lets only requests through that read, whose host is
// the listener's, and whose path begins with the token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !s.permitsHost(r.Host):
		// Another name for this address, which a foreign page may have made.
		http.Error(w, "this host is not served", http.StatusMisdirectedRequest)
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
		http.Error(w, "open the link that allot printed", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard changes nothing", http.StatusMethodNotAllowed)
	case path == "stream":
		s.stream(w, r)
	case path == "explain":
		s.explain(w, r)
	default:
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/"+path, ""
		s.page.ServeHTTP(w, r)
	}
}

// secure sets the header of all responses.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("Cache-Control", "no-store")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
}

func (s *Server) permitsHost(host string) bool {
	for _, permitted := range s.hosts {
		if strings.EqualFold(host, permitted) {
			return true
		}
	}
	return false
}

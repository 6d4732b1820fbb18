package apiserver

import "time"

// Alone reports whether the server considers itself the only one on its etcd.
func (s *Server) Alone() bool { return s.backend.isAlone() }

// WithClock returns the configuration of a server that reads the time from now for its
// certificates, and checks them at the interval.
func (c Config) WithClock(now func() time.Time, every time.Duration) Config {
	c.now, c.renewEvery = now, every
	return c
}

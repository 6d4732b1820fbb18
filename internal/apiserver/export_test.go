package apiserver

import "time"

// Alone says whether the server takes itself for the only one on its etcd.
func (s *Server) Alone() bool { return s.backend.alone() }

// WithClock is the configuration of a server whose certificates go by now and are looked at so
// often.
func (c Config) WithClock(now func() time.Time, every time.Duration) Config {
	c.now, c.renewEvery = now, every
	return c
}

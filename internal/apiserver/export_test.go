package apiserver

// Alone says whether the server takes itself for the only one on its etcd.
func (s *Server) Alone() bool { return s.backend.alone() }

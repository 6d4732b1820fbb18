// Package client reads and writes allot's API with the extended types of package api.
//
// Set has one typed client per kind. Informers has one cache per kind, shared by all components of
// a process. Objects from a cache are read-only: copy them before writing. The package makes no
// decisions and never retries.
package client

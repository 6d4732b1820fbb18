// Package controllertest has what the scenarios of controllers share: the objects of a server and
// of a cache that is behind it, by name, in the namespace "default".
package controllertest

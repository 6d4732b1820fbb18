// Unmodified controllers of other projects, run against allot up. A module of its own, so that
// ./... of the main module does not build them.
module github.com/allot-dev/allot/test/real

go 1.26.0

require (
	github.com/rogpeppe/go-internal v1.16.0
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

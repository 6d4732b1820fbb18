.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/allot
	go build -o bin/allot ./cmd/allot

.PHONY: test
test: ## run all tests
	go test ./...

.PHONY: golden
golden: PKG ?= $(shell grep -rlE --include='*_test.go' '"rewrite"|datadriven\.|scenario\.Walk|claimstest\.Play' internal | xargs -n1 dirname | sort -u | sed 's|^|./|')
golden: ## accept new golden output (PKG=./internal/sched for one package); read the diff before you commit
	@for pkg in $(PKG); do go test $$pkg -rewrite || exit; done
	@git --no-pager diff --stat -- '*testdata*'

.PHONY: verify
verify: ## check what update would change, vet and lint (read-only)
	.ci/verify

.PHONY: update
update: ## generate code anew and format
	go generate ./api/... ./internal/attach
	.ci/manifests manifests
	gofmt -w $$(git ls-files '*.go')

.PHONY: bench
bench: ## measure pods per second beside a trivial client (test/bench)
	go run ./test/bench

.PHONY: collections
collections: ## create and delete 50,000 pods that have no place, and their claims (test/bench)
	go run ./test/bench -collections 50000

.PHONY: peer
peer: ## run the product beside Kubernetes 1.37 itself (test/peer/cluster; builds it, some minutes)
	cd test/peer/cluster && go vet ./... && go test -timeout 30m . ./controllers ./judge

.PHONY: peer-bench
peer-bench: ## measure allot and Kubernetes 1.37 in turns, with the workloads of scheduler_perf (test/peer/cluster/bench)
	cd test/peer/cluster && go run ./bench -runs 3

.PHONY: judge
judge: ## compare validation, defaults and tables with Kubernetes 1.37 by 50,000 objects of each kind (about 12 minutes)
	cd test/peer/cluster && go test -timeout 2h ./judge -run 'TestJudge$$|TestFields' -mutations 50000

.PHONY: soak
soak: ## end the parts at random under load, and check what must hold (test/soak; 5 minutes)
	go run ./test/soak

.PHONY: real
real: ## run JobSet, LeaderWorkerSet, Kueue, Helm and stock kubelets against allot up (test/real; builds them, an hour)
	cd test/real && go vet . && go test -timeout 90m .
	cd test/real/kubelet && go vet ./... && go test -timeout 60m .

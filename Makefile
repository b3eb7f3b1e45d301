# make          build the binary
# make demo     lab, topology and a trace across two nodes, on this machine
# make unit     the tests that need neither root nor Open vSwitch, in seconds
# make test     everything that a change must pass; installs what is missing
# make help     the rest

.DEFAULT_GOAL := build
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)

# The lab needs root: tests run as root, builds as whoever calls make.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Tests that need root, Open vSwitch or OVN have the build tag lab: without the tag they do not exist, with it they never skip.
COMMA := ,
TAGS := lab,releases,machine,gendocs,failpoints,kubernetes,metrics
GOTEST := go test -count=1 -tags lab $(if $(SUDO),-exec "$(SUDO) --preserve-env env PATH=$$PATH")
MACHINE := $(subst -tags lab,-tags machine,$(GOTEST)) ./internal/lab/machine
RELEASES := $(subst -tags lab,-tags lab$(COMMA)releases -run '^TestReleases',$(GOTEST))

# Linters and the release tool, pinned, built once outside the clone.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ovnctl/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-v2.15.0
STATICCHECK := $(TOOLS)/staticcheck-v0.8.2
GORELEASER := $(TOOLS)/goreleaser-v2.16.0

FUZZTIME ?= 1m
# How many times test-all draws packets, each time by another seed.
SEEDS ?= 10

PACKAGES = $(shell go list ./...)
# The packages with tests on other releases.
RELEASED = $(sort $(dir $(shell grep -rl --include='*_test.go' '^//go:build releases' cmd internal pkg)))
# The number of this run, by which slow tests take turns: scripts/turn.sh counts. The fault labs read OVNCTL_TURN.
TURN := $(or $(TURN),$(shell git rev-list --count HEAD 2>/dev/null || echo 0))
export OVNCTL_TURN ?= $(TURN)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

# One set of flags, so that no target compiles again what another has. The compiler collects no garbage below a GiB.
COMPILE := GOGC=off GOMEMLIMIT=1GiB CGO_ENABLED=0 go build -buildvcs=false -trimpath

.PHONY: build
build: ## bin/ovnctl, static
	$(COMPILE) -ldflags '$(LDFLAGS)' -o bin/ovnctl ./cmd/ovnctl
	@! ldd bin/ovnctl >/dev/null 2>&1 || { echo 'bin/ovnctl: linked dynamically' >&2; exit 1; }

.PHONY: plugin
plugin: ## bin/kubectl-ovnctl, the same with access to Kubernetes
	$(COMPILE) -tags kubernetes,metrics -ldflags '$(LDFLAGS)' -o bin/kubectl-ovnctl ./cmd/ovnctl

.PHONY: exporter
exporter: ## bin/ovnctl-exporter, the same with doctor --serve
	$(COMPILE) -tags metrics -ldflags '$(LDFLAGS)' -o bin/ovnctl-exporter ./cmd/ovnctl

.PHONY: demo-programs
demo-programs:
	$(COMPILE) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/ovnctl ./internal/lab/cmd/lab

.PHONY: install-lab
install-lab:
	$(SUDO) sh internal/lab/install.sh </dev/null

.PHONY: install-demo
install-demo:
	$(SUDO) sh internal/lab/install.sh demo </dev/null

.PHONY: unit
unit: ## the tests that need neither root nor Open vSwitch, with -race
	@$(MAKE) --no-print-directory -j3 unit-raced unit-plain unit-alone

# Without debugging information: to link some forty test binaries is half of the work.
UNIT := GOGC=400 go test -short -vet=off -ldflags '-s -w'

# The packages in which something runs beside something else, in a test at least: the others have nothing to race.
STARTS := \bgo func|\bgo [a-zA-Z.]+\(|\.Go\(|t\.Parallel\(\)
CONCURRENT = $(filter $(addprefix %/,$(shell grep -rlE --include='*.go' '$(STARTS)' cmd internal pkg | xargs dirname | sort -u)),$(PACKAGES))

# Many answers of the whole command, one after the other, often a process each, whole deployments, servers that send without end: they
# take up to ten times as long with -race.
PLAIN := ^(TestGolden|TestTopologyScripts|TestDocs|TestDocsPictures|TestReport|TestDemo|TestDeployment(s|sPictured|PathsPictured|sReported|Packets|Repairs|Faults|ZoneRepairs|Scope|DisabledPort)|TestRedact.*|TestTypedNames|TestSecurityGroupDrop|TestFlowsOfTypedNames|TestPodNetwork.*|TestWrongNames|TestInterruptUnpacking|TestHostileServers|TestReachNodes|TestEndlessString)$$
# That is the longest, and much of it one after the other: the rest gives way.
.PHONY: unit-raced unit-plain unit-alone
unit-raced:
	nice -n 19 env GORACE=atexit_sleep_ms=0 $(UNIT) -race -p 2 -skip '$(PLAIN)' $(CONCURRENT)
unit-plain:
	$(UNIT) -run '$(PLAIN)' ./cmd/ovnctl ./pkg/ovsdb
unit-alone:
	nice -n 19 env $(UNIT) $(filter-out $(CONCURRENT),$(PACKAGES))

.PHONY: site
site: install-lab ## build/site, the pages of docs/ as a site with a search
	hugo --quiet --source site --destination ../build/site

.PHONY: golden
golden: ## write what ovnctl prints about the demos into the files and pages that tests compare
	go test -count=1 -run 'TestGolden|TestTopologyScripts|TestDocs' ./cmd/ovnctl -update
	OVNCTL_UPDATE=1 go test -count=1 -run 'TestPage' ./internal/arch

.PHONY: test
test: lint-light install-lab ## everything against the system's OVS and OVN
	scripts/test.sh $(GOTEST) -p 2 -timeout 35m $(filter-out %/internal/faults,$(PACKAGES))
	scripts/again.sh $(GOTEST) -parallel 4 -timeout 30m ./internal/faults

.PHONY: test-releases
test-releases: install-lab ## the lab on other releases of OVS and OVN, in private roots
	scripts/test.sh $(RELEASES) -p 2 -timeout 40m $(addprefix ./,$(filter-out internal/faults/,$(RELEASED)))
	$(if $(filter internal/faults/,$(RELEASED)),scripts/again.sh $(RELEASES) -timeout 20m ./internal/faults)

# What takes long takes turns: half of the packages with tests on other releases in each run.
.PHONY: test-turn
test-turn: ## the half of test-releases whose turn it is
	$(MAKE) test-releases RELEASED="$(shell printf '%s\n' $(RELEASED) | awk 'NR % 2 == $(TURN) % 2')"

.PHONY: test-all
test-all: unit test test-releases ## test, releases, many seeds, a short fuzz
	$(GOTEST) -count=$(SEEDS) -timeout 180m -run '^TestTraceTruth$$' ./cmd/ovnctl
	OVNCTL_FAULTS=all scripts/again.sh $(GOTEST) -parallel 4 -timeout 60m -run '^TestFaults$$' ./internal/faults
	OVNCTL_FAULTS=all $(GOTEST) -parallel 4 -timeout 90m -run '^TestUndo$$' ./internal/faults
	OVNCTL_KILLS=all $(GOTEST) -parallel 5 -timeout 120m -v -run '^TestKill$$' ./internal/faults
	OVNCTL_PAIRS=600 $(GOTEST) -timeout 60m -run '^TestStrict$$' ./cmd/ovnctl
	OVNCTL_PAIRS=100 $(GOTEST) -timeout 60m -run '^TestSend$$' ./cmd/ovnctl
	OVNCTL_TRACES=3000 $(GOTEST) -timeout 60m -tags lab,releases -v -run 'Traces$$' ./pkg/trace/ovssim
	OVNCTL_MICROFLOWS=2000 $(GOTEST) -timeout 60m -tags lab,releases -run 'Microflows$$' ./pkg/trace/microflow
	$(MAKE) fuzz

.PHONY: test-bridges
test-bridges: install-lab ## BRIDGES=N: drawn bridges, their flows simulated and traced by three releases of Open vSwitch
	OVNCTL_BRIDGES=$(or $(BRIDGES),5000) $(GOTEST) -timeout 6h -v -run '^TestBridges$$' ./pkg/trace/ovssim
	OVNCTL_BRIDGES=$(or $(BRIDGES),5000) $(subst -tags lab,-tags lab$(COMMA)releases,$(GOTEST)) -timeout 6h -v -run '^TestReleasesBridges$$' ./pkg/trace/ovssim

# The API server is built from its module into the user's cache folder: ten minutes of two processors, once.
.PHONY: test-kubernetes
test-kubernetes: ## from a laptop: a real API server, of Kubernetes, beside the lab
	$(SUDO) sh internal/lab/install.sh kubernetes </dev/null
	scripts/test.sh $(subst -tags lab,-tags lab$(COMMA)kubernetes,$(GOTEST)) -timeout 60m -run '^TestKubernetes' ./cmd/ovnctl

.PHONY: test-metrics
test-metrics: ## doctor --serve, its alerts and its dashboard, with a real Prometheus beside the lab
	$(SUDO) sh internal/lab/install.sh prometheus </dev/null
	scripts/test.sh $(subst -tags lab,-tags lab$(COMMA)metrics,$(GOTEST)) -timeout 40m -run '^TestServe' ./cmd/ovnctl

.PHONY: test-programs-turn
test-programs-turn: ## in every other run a real API server, or a real Prometheus
	case $$(($(TURN) % 4)) in 1) $(MAKE) test-kubernetes ;; 3) $(MAKE) test-metrics ;; esac

# A machine of its own under QEMU: the kernel datapath, systemd, reboots.
.PHONY: install-machine
install-machine:
	$(SUDO) sh internal/lab/install.sh machine </dev/null

.PHONY: test-machine
test-machine: install-machine ## labs on the kernel datapath and real reboots, in an emulated machine: an hour or more
	OVNCTL_FAULTS=all scripts/test.sh $(MACHINE) -timeout 6h

.PHONY: test-machine-turn
test-machine-turn: install-machine ## the part of test-machine whose turn it is: minutes
	OVNCTL_TURN=$$(($(TURN) / 5)) scripts/test.sh $(MACHINE) -timeout 30m -run '^$(word $(shell expr $(TURN) % 5 + 1),TestLabs TestLostAddress TestTransientDefault TestDisturbedRepair TestWays)$$'

# The kits start the real ovn-kubernetes, Neutron and Kube-OVN; they are not part of this repository, and nothing else needs them.
.PHONY: test-real
test-real: build plugin ## KITS=DIR: packets, trace and doctor on real deployments, which the kits in DIR start; 15 minutes
	go build -C internal/lab/kubernetes/testdata/programs -trimpath -ldflags '-s -w' -o "$(CURDIR)/build/kubelet" ./kubelet
	$(SUDO) env ROOTS="$(ROOTS)" ONLY="$(ONLY)" KEEP="$(KEEP)" scripts/test-real.sh "$(KITS)" </dev/null

.PHONY: bench
bench: ## all benchmarks
	$(GOTEST) -p 1 -timeout 90m -run '^$$' -bench . -benchmem ./...

.PHONY: fuzz
fuzz: ## each fuzz test for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: demo
demo: ## the lab, its topology and a trace; KEEP=1 leaves the lab up
	@$(MAKE) --no-print-directory -j2 demo-programs install-demo
	$(SUDO) env KEEP="$(KEEP)" scripts/demo.sh </dev/null

.PHONY: demo-capture
demo-capture: build install-lab ## make the captures that are in the binary again
	go build -buildvcs=false -o bin/democapture ./internal/lab/cmd/democapture
	$(SUDO) bin/democapture $(CURDIR)/bin/ovnctl internal/demo </dev/null

.PHONY: lint-light
lint-light: ## gofmt, go vet and the architecture's arrows
	@unformatted=$$(gofmt -l .); \
	[ -z "$$unformatted" ] || { printf 'gofmt would change:\n%s\n' "$$unformatted" >&2; exit 1; }
	go vet ./...
	go vet -tags $(TAGS) ./...
	go test ./internal/arch

.PHONY: lint
lint: lint-light $(STATICCHECK) $(GOLANGCI_LINT) ## all linters
	$(STATICCHECK) -tags $(TAGS) ./...
	$(GOLANGCI_LINT) run ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null ./cmd/ovnctl

# What the packages are built for, beside this machine's own.
PLATFORMS := linux/s390x linux/arm64 linux/ppc64le darwin/arm64
.PHONY: platform
platform: ## build for the one of the other platforms whose turn it is
	platform=$(word $(shell expr $(TURN) % $(words $(PLATFORMS)) + 1),$(PLATFORMS)); echo $$platform; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go build -o /dev/null ./cmd/ovnctl

.PHONY: docs
docs: ## man pages and shell completions, in build/
	rm -rf build
	go run -buildvcs=false -tags gendocs -ldflags '-X main.version=$(VERSION)' ./cmd/ovnctl build
	gzip -9nk build/man/*.8

.PHONY: snapshot
snapshot: $(GORELEASER) ## archives and packages of this commit, in dist/
	$(GORELEASER) release --snapshot --clean

.PHONY: test-packages
test-packages: snapshot ## the packages: installed by apt-get in a clean root, used, removed; the RPM's files beside them
	$(SUDO) sh internal/lab/install.sh packages </dev/null
	$(SUDO) scripts/test-packages.sh

.PHONY: clean
clean:
	rm -rf bin build dist

# tool installs a command under a name that carries its version.
define tool
@mkdir -p $(TOOLS)
GOBIN=$(TOOLS)/install.$$$$ && GOBIN=$$GOBIN GOFLAGS= go install $(1) && mv $$GOBIN/* $@ && rmdir $$GOBIN
endef

$(GOLANGCI_LINT):
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0)

$(STATICCHECK):
	$(call tool,honnef.co/go/tools/cmd/staticcheck@v0.8.2)

$(GORELEASER):
	$(call tool,github.com/goreleaser/goreleaser/v2@v2.16.0)

//go:build lab

package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// A fault is one fault of the catalogue, as it is made on a lab.
type fault struct {
	check string // that finds it
	name  string // which kind of it, where there are several
	on    string // the host on which it is made and doctor runs: "node1", "central"
	how   string // by what means, in a few words, for the table in docs/checks
	// make makes it. It returns when the fault is there: what takes time is waited for.
	make func(*scene)
	// mend takes it back where no repair does; nil where the repair does.
	mend func(*scene)
	// again makes it again after a repair that cannot be undone, where that is quicker than mend and make.
	again func(*scene)
	// like is another fault of the stage, which is quicker to make and whose repair is cut off in its place: it is the
	// same one, by the same steps. Empty: its own is.
	like string
	// object is a part of what the finding names, "port shop_web-1".
	object string
	result doctor.Result // doctor.Error if empty
	// undone is the check that finds what undo leads back to; empty: the same one.
	undone string
	// kernel is the check that may find it instead with the kernel's datapath; empty: none.
	kernel string
	// elections are what it is about: the logs that tell of them are kept after its repair, as undo brings it back.
	elections bool
	args      []string // further flags of doctor: --sample 15s
	// twoReleases: it takes a second release of OVN beside that of the lab, and is skipped where there is none.
	twoReleases bool
	// userspace: it takes the userspace datapath, and is skipped on the kernel's.
	userspace bool
	// patience is how many seconds ovnctl waits for a daemon that never answers; empty: as long as it does by itself.
	patience string
	// restless are beginnings of the keys of scene.state that change by themselves while the fault is there.
	restless []string
	// repair is the command `ovnctl fix …` that mends it, in words; nil: there is advice only.
	// What is not known before the fault is made is filled in by make: scene.repair.
	repair []string
	// lost is traffic that the fault stops and the repair brings back.
	lost []probe
	// also are checks whose findings may stand beside it although Causes does not
	// tie them, with the reason. It is for faults that are two by nature.
	also map[string]string
}

// A probe is a packet and its answer, as lab.State.Probe takes them; "dhcp" asks for an address.
type probe struct{ from, to, proto string }

func (p probe) String() string { return p.from + " to " + p.to + " " + p.proto }

// A scene is a fault on a lab.
type scene struct {
	*testing.T
	*lab.Lab
	ctx    context.Context
	fault  *fault
	repair []string
	binary string // of ovnctl; empty: as it is built from this tree
}

// sh runs a shell script on a host or in a pod; it must succeed.
func (s *scene) sh(host, script string, args ...any) string {
	s.Helper()
	out, err := s.Lab.Run(s.ctx, host, "sh", "-ec", fmt.Sprintf(script, args...))
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// until waits for something that is about to be; what says what, for the error.
func (s *scene) until(what string, holds func() bool) {
	s.Helper()
	s.within(40*time.Second, what, holds)
}

// within waits as until does, for what may take longer.
func (s *scene) within(limit time.Duration, what string, holds func() bool) {
	s.Helper()
	deadline := time.Now().Add(s.Allow(limit))
	for !holds() {
		if time.Now().After(deadline) {
			s.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// settle waits until what was changed in the Northbound is in the flows of every node.
func (s *scene) settle() {
	s.Helper()
	s.sh("central", "ovn-nbctl --timeout=%.0f --wait=hv sync", s.Allow(time.Minute).Seconds())
}

// flows says whether a packet gets through and its answer back.
func (s *scene) flows(p probe) bool {
	s.Helper()
	if p.proto == "dhcp" {
		return s.leases(p.from)
	}
	truth, err := s.Probe(s.ctx, p.from, p.to, p.proto, 0)
	if err != nil {
		s.Fatalf("%s: %v", p, err)
	}
	return truth.RoundTrip
}

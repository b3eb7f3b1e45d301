//go:build lab

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// TestHealthy holds that doctor finds nothing where nothing is wrong: on every topology, from a node, from each host with
// the databases, and from afar with all nodes in reach, also with a second look.
func TestHealthy(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(lab.Topologies())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			healthyLab(t, lab.Topologies()[name], lab.Options{})
		})
	}
	t.Run("cluster-tls", func(t *testing.T) { healthyLab(t, lab.OVNKubernetes(), lab.Options{Cluster: 3, TLS: true}) })
}

func healthyLab(t *testing.T, topology lab.Topology, o lab.Options) {
	l := labtest.Own(t, topology, o)
	reach := []string{"--node-exec", l.Dir + "/enter {hostname}"}
	for _, host := range append([]string{topology.Nodes[0].Name}, l.Centrals()...) {
		t.Run(host, func(t *testing.T) { healthyFrom(t, l, host, "--host-root", l.Dir+"/"+host) })
	}
	t.Run("afar", func(t *testing.T) { healthyFrom(t, l, topology.Nodes[0].Name, reach...) })
	t.Run("sample", func(t *testing.T) { healthyFrom(t, l, topology.Nodes[0].Name, append(reach, "--sample", "6")...) })
}

// healthyFrom tells what could not be told, too: on a lab a check that never knows is one that never finds.
func healthyFrom(t *testing.T, l *lab.Lab, host string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(2*time.Minute))
	defer cancel()
	args = slices.Concat([]string{program, "doctor", "-o", "json"}, args, l.Flags())
	if l.Topology.OVN {
		args = append(args, "--nb", l.NB(), "--sb", l.SB())
	}
	if l.TLS {
		key, cert, ca := l.Keys("client")
		args = append(args, "-p", key, "-c", cert, "-C", ca)
	}
	cmd := l.Program(ctx, host, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	var r doctor.Report
	if jsonErr := json.Unmarshal(out.Bytes(), &r); jsonErr != nil {
		t.Fatalf("%v: %v\n%s%s", err, jsonErr, out.Bytes(), errs.Bytes())
	}
	unknown := map[string]bool{}
	for _, f := range r.Findings {
		if f.Result == doctor.Unknown {
			unknown[f.Check+": "+f.Title] = true
		}
		if f.Result == doctor.Unknown && !l.Topology.OVN && strings.Contains(f.Title, "OVN_") {
			t.Errorf("%s cannot tell without a database of OVN, which plain Open vSwitch does not have: %s", f.Check, f.Title)
		}
	}
	t.Logf("%d ms, %d checks passed, could not tell:\n  %s", time.Since(start).Milliseconds(), len(r.Passed), strings.Join(slices.Sorted(maps.Keys(unknown)), "\n  "))
	if r.Worst().Fault() || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit %d:\n%s%s", cmd.ProcessState.ExitCode(), text(r), errs.String())
	}
}

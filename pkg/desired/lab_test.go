//go:build lab

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// ovn-controller itself says what it installs: every logical flow of every topology is compiled, and what comes out is
// what its nodes have.
func TestLab(t *testing.T) {
	for _, topology := range topologies {
		t.Run(topology.Name, func(t *testing.T) {
			agrees(t, labtest.Own(t, topology, lab.Options{}))
		})
	}
}

// topologies are those with OVN.
var topologies = []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN(), lab.OpenStack(), lab.Features(), lab.MixedEncapsulation(), lab.Interconnect()}

// enough is the least part of the installed flows that must be equal.
const enough = 0.995

func agrees(t *testing.T, l *lab.Lab) {
	total := map[Difference]int{}
	for _, node := range l.Topology.Nodes {
		counts := settled(t, l, node)
		for d, n := range counts {
			total[d] += n
		}
	}
	installed := total[Equal] + total[Edited] + total[Foreign]
	part := float64(total[Equal]) / float64(max(installed, 1))
	t.Logf("%s on %s: %d flows of logical flows installed, %d equal (%.2f %%), %d edited, %d foreign, %d missing", l.Topology.Name, l.Release, installed,
		total[Equal], 100*part, total[Edited], total[Foreign], total[Missing])
	if part < enough || float64(total[Missing]) > (1-enough)*float64(installed) {
		t.Errorf("%.2f %% of the installed flows are equal and %d more are missing, want %.1f %%", 100*part, total[Missing], 100*enough)
	}
}

// settled compares a node's flows once they and the Southbound agree, or do not for ten seconds: the two cannot be read
// at one moment, and multicast groups come and go as hosts join them.
func settled(t *testing.T, l *lab.Lab, node lab.Node) map[Difference]int {
	t.Helper()
	for deadline := time.Now().Add(lab.Allow(10 * time.Second)); ; time.Sleep(time.Second) {
		var report []string
		counts := compareNode(t, l, node, func(format string, args ...any) { report = append(report, fmt.Sprintf(format, args...)) })
		if counts[Edited]+counts[Foreign]+counts[Missing] == 0 || time.Now().After(deadline) {
			t.Log(strings.Join(report, "\n"))
			return counts
		}
	}
}

// A state is what one node and its Southbound say at about one moment.
type state struct {
	*Node
	rows  *Inputs
	flows *LogicalFlows
	dump  []openflow.FlowEntry // of the logical pipelines
}

func read(t testing.TB, l *lab.Lab, node lab.Node) state {
	t.Helper()
	run := func(args ...string) string {
		out, err := l.Command(t.Context(), node.Name, args...).Output()
		if err != nil {
			t.Fatalf("%s: %s: %v", node.Name, strings.Join(args, " "), err)
		}
		return string(out)
	}
	remote := l.SB()
	if l.Topology.Zones {
		remote = "unix:" + l.Dir + "/" + node.Name + "/run/ovn/ovnsb_db.sock"
	}
	southbound := ovsdbtest.Dial(t, "OVN_Southbound", remote)
	local := ovsdbtest.Dial(t, "Open_vSwitch", "unix:"+l.Dir+"/"+node.Name+"/run/openvswitch/db.sock")

	var dump []openflow.FlowEntry
	var seen []decode.Seen
	for line := range strings.Lines(run("ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", "br-int")) {
		if !strings.Contains(line, "actions=") {
			continue
		}
		f, err := new(openflow.Reader).FlowEntry(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		dump, seen = append(dump, f), append(seen, decode.SeenIn(&f))
	}
	version := release.Parse(run("ovn-appctl", "-t", "ovn-controller", "version"))
	logical, err := decode.ReadLogical(t.Context(), southbound)
	if err != nil {
		t.Fatal(err)
	}
	decoder := decode.Decoder{Names: decode.NewNames(logical, decode.Vswitch{}, nil, version), Flows: decode.NewLogicalFlows(southbound), Objects: decode.NewObjects(nil)}
	decoder.Calibrate(t.Context(), seen)

	n := &Node{SystemID: node.SystemID, Version: version, Tables: TablesOf(decoder.Calibration)}
	n.Installed(dump)
	n.ParseGroups(run("ovs-ofctl", "-O", "OpenFlow15", "dump-groups", "br-int"))
	n.ParseMeters(run("ovn-appctl", "-t", "ovn-controller", "meter-table-list"))
	var own Switch
	if err := ovsdb.Load(t.Context(), local, &own); err != nil {
		t.Fatal(err)
	}
	n.Switch(own)
	s := state{Node: n}
	if s.rows, s.flows, err = Read(t.Context(), southbound); err != nil {
		t.Fatal(err)
	}
	s.dump = slices.DeleteFunc(dump, func(f openflow.FlowEntry) bool { return !n.Tables.In(&f) })
	return s
}

// compareNode compiles all logical flows for a node, and reports an example of each kind of difference.
func compareNode(t *testing.T, l *lab.Lab, node lab.Node, report func(format string, args ...any)) map[Difference]int {
	t.Helper()
	s := read(t, l, node)
	start := time.Now()
	desired, problems := New(s.rows, s.Node).All(s.flows)
	took := time.Since(start)
	failures := map[string]int{}
	for _, p := range problems {
		failures[p.Err.Error()]++
	}
	counts := map[Difference]int{}
	examples := map[string]int{}
	for _, p := range Compare(desired, s.dump) {
		if p.Difference == Equal && !slices.ContainsFunc(p.Desired, func(d *openflow.FlowEntry) bool { return d.Match.Key() == p.Installed.Match.Key() }) {
			p.Difference = Edited // of another number
		}
		counts[p.Difference]++
		if p.Difference == Equal {
			continue
		}
		kind := string(p.Difference) + " " + strconv.Itoa(p.Any().Table.Number)
		if examples[kind]++; examples[kind] > 1 {
			continue
		}
		if p.Installed != nil {
			report("%s: %s\n  installed %s", node.Name, p.Difference, p.Installed)
		}
		for _, d := range p.Desired {
			report("%s: %s\n  desired   %s", node.Name, p.Difference, d)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(examples)) {
		report("%s: %s: %d", node.Name, kind, examples[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		report("%s: not compiled: %s: %d", node.Name, kind, failures[kind])
	}
	report("%s: %d logical flows compiled to %d flows in %.0f ms: %v", node.Name, len(s.flows.Rows), len(desired), float64(took.Microseconds())/1000, counts)
	return counts
}

// BenchmarkLab compiles all logical flows for a node, and has its ovn-controller do the same.
func BenchmarkLab(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	s := read(b, l, l.Topology.Nodes[0])
	b.Run("ovnctl", func(b *testing.B) {
		for b.Loop() {
			New(s.rows, s.Node).All(s.flows)
		}
	})
	b.Run("ovn-controller", func(b *testing.B) {
		ask := func(args ...string) string {
			out, err := l.Command(b.Context(), l.Topology.Nodes[0].Name, append([]string{"ovn-appctl", "-t", "ovn-controller"}, args...)...).Output()
			if err != nil {
				b.Fatal(err)
			}
			return string(out)
		}
		ask("stopwatch/reset", "flow-generation")
		for b.Loop() {
			ask("inc-engine/recompute")
			time.Sleep(200 * time.Millisecond) // it is done by its main loop, later
		}
		_, text, _ := strings.Cut(ask("stopwatch/show", "flow-generation"), "Maximum: ")
		text, _, _ = strings.Cut(text, " ")
		longest, err := strconv.ParseFloat(text, 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(longest, "ms-at-most")
	})
}

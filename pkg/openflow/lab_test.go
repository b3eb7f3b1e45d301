//go:build lab

package openflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestLabDumps reads what the tools print on every node of every topology and
// must write each line again.
func TestLabDumps(t *testing.T) {
	for _, topology := range labTopologies() {
		t.Run(topology.Name, func(t *testing.T) { dumps(t, labtest.Own(t, topology, lab.Options{})) })
	}
}

// labTopologies are all that there are, those with few flows first.
func labTopologies() []lab.Topology {
	list := []lab.Topology{lab.Features()}
	for _, topology := range lab.Topologies() {
		list = append(list, topology)
	}
	slices.SortFunc(list, func(a, b lab.Topology) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// A dumper asks the nodes of a lab for everything, and counts the lines that come
// out as they went in, by command.
type dumper struct {
	*testing.T
	lab   *lab.Lab
	lines map[string]int
}

func dumps(t *testing.T, l *lab.Lab) {
	d := &dumper{T: t, lab: l, lines: map[string]int{}}
	for _, n := range l.Topology.Nodes {
		d.must(n.Name, "ovs-vsctl", "--timeout=20", "add-br", "br-text", "--", "set", "bridge", "br-text", "datapath-type=netdev", "fail-mode=secure")
	}
	d.prepare(l.Topology.Nodes[0].Name)
	d.traffic()
	for _, n := range l.Topology.Nodes {
		d.node(n.Name)
	}
	total := 0
	for _, what := range slices.Sorted(func(yield func(string) bool) {
		for k := range d.lines {
			if !yield(k) {
				return
			}
		}
	}) {
		t.Logf("%6d lines of %s", d.lines[what], what)
		total += d.lines[what]
	}
	t.Logf("%6d lines on %s", total, l.Release)
	for _, what := range []string{"dump-flows", "dump-groups", "dump-meters", "dump-ports-desc", "fdb/show", "dpctl/dump-flows", "dpctl/dump-conntrack", "ofproto/trace"} {
		if d.lines[what] < 3 {
			t.Errorf("only %d lines of %s", d.lines[what], what)
		}
	}
}

func (d *dumper) must(host string, args ...string) string {
	d.Helper()
	out, err := d.lab.Run(d.Context(), host, args...)
	if err != nil {
		d.Fatal(err)
	}
	return out
}

// versions are the dialects that dumps are asked for in.
var versions = []string{"OpenFlow10", "OpenFlow13", "OpenFlow15"}

// prepare adds what the flows of OVN lack. What a release refuses, it has not.
func (d *dumper) prepare(node string) {
	d.must(node, "ovs-vsctl", "--timeout=20", "set", "bridge", "br-text", "protocols="+strings.Join(versions, ","))
	d.must(node, "ovs-ofctl", "-O", "OpenFlow15", "add-tlv-map", "br-text", "{class=0x102,type=0x80,len=4}->tun_metadata0,{class=0xffff,type=0,len=124}->tun_metadata1")
	refused := 0
	for _, m := range []string{"meter=1,pktps,burst,stats,bands=type=drop,rate=10,burst_size=5", "meter=2,kbps,bands=type=drop,rate=1000"} {
		d.must(node, "ovs-ofctl", "-O", "OpenFlow15", "add-meter", "br-text", m)
	}
	for _, g := range allGroups {
		d.must(node, "ovs-ofctl", "-O", "OpenFlow15", "add-group", "br-text", g)
	}
	for i, f := range allFlows() {
		f = fmt.Sprintf("table=%d,priority=%d,%s", i%200, 1+i, f)
		if _, err := d.lab.Run(d.Context(), node, "ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-text", f); err != nil {
			if _, err = d.lab.Run(d.Context(), node, "ovs-ofctl", "-O", "OpenFlow10", "add-flow", "br-text", f); err != nil {
				d.Logf("%s: %v", f, err)
				refused++
			}
		}
	}
	if refused > 6 {
		d.Errorf("%d flows were refused", refused)
	}
}

// traffic makes rows in conntrack, the datapath and the FDB.
func (d *dumper) traffic() {
	pods := d.lab.Topology.Pods
	answered := 0
	for i, p := range pods[:min(len(pods), 6)] {
		for j, proto := range []string{"tcp", "udp", "icmp"} {
			q := pods[(i+1+j)%len(pods)]
			truth, err := d.lab.Probe(d.Context(), p.Name, q.Name, proto, 0)
			if err != nil {
				d.Fatal(err)
			}
			if truth.RoundTrip {
				answered++
			}
		}
	}
	if answered == 0 {
		d.Error("no packet came back")
	}
}

func (d *dumper) node(node string) {
	for _, bridge := range strings.Fields(d.must(node, "ovs-vsctl", "--timeout=20", "list-br")) {
		d.must(node, "ovs-vsctl", "--timeout=20", "set", "bridge", bridge, "protocols="+strings.Join(versions, ","))
		for _, v := range versions {
			if bridge == "br-text" && v == "OpenFlow10" {
				continue // it cannot say encap
			}
			for _, options := range [][]string{{"--names"}, {"--no-names", "--no-stats"}, {"--color=always"}, {"--no-names"}} {
				d.dump("dump-flows", node, slices.Concat([]string{"ovs-ofctl", "-O", v}, options, []string{"dump-flows", bridge})...)
			}
			d.dump("dump-groups", node, "ovs-ofctl", "-O", v, "dump-groups", bridge)
			d.dump("dump-ports-desc", node, "ovs-ofctl", "-O", v, "dump-ports-desc", bridge)
			d.dump("dump-tlv-map", node, "ovs-ofctl", "-O", v, "dump-tlv-map", bridge)
			if v != "OpenFlow10" {
				d.dump("dump-meters", node, "ovs-ofctl", "-O", v, "dump-meters", bridge)
			}
		}
		d.dump("fdb/show", node, "ovs-appctl", "fdb/show", bridge)
	}
	for _, options := range [][]string{nil, {"-m"}, {"--names"}} {
		d.dump("dpctl/dump-flows", node, slices.Concat([]string{"ovs-appctl", "dpctl/dump-flows"}, options)...)
	}
	for _, options := range [][]string{nil, {"-m"}, {"-s"}} {
		d.dump("dpctl/dump-conntrack", node, slices.Concat([]string{"ovs-appctl", "dpctl/dump-conntrack"}, options)...)
	}
	d.traces(node)
}

func (d *dumper) dump(what, node string, command ...string) {
	text := d.must(node, command...)
	d.lines[what] += roundTrip(d.T, node+" "+strings.Join(command, " "), text)
}

// traces asks for a trace through the first flow of each of the pod's packets.
func (d *dumper) traces(node string) {
	bridge := d.lab.Topology.Bridge
	for _, p := range d.lab.Topology.Pods {
		if p.Node != node {
			continue
		}
		port := strings.TrimSpace(d.must(node, "ovs-vsctl", "--timeout=20", "get", "Interface", p.Link, "ofport"))
		for _, q := range d.lab.Topology.Pods {
			if q.Name == p.Name {
				continue
			}
			for _, packet := range []string{"tcp,tcp_dst=8080", "udp,udp_dst=53", "icmp,icmp_type=8"} {
				flow := fmt.Sprintf("%s,in_port=%s,dl_src=%s,dl_dst=%s,nw_src=%s,nw_dst=%s,nw_ttl=64", packet, port, p.MAC, q.MAC, p.IPv4.Addr(), q.IPv4.Addr())
				d.trace(node, bridge, flow)
			}
			break
		}
	}
}

func (d *dumper) trace(node, bridge, flow string) {
	text := d.must(node, "ovs-appctl", "ofproto/trace", bridge, flow)
	tr, err := ParseTrace(text)
	if err != nil {
		d.Errorf("%s: %v", flow, err)
		return
	}
	d.lines["ofproto/trace"] += compareLines(d.T, node+" ofproto/trace "+flow, tr.String(), text)
	for _, p := range tr.Passes {
		if _, err := ParseAttrs(p.DatapathActions); err != nil {
			d.Errorf("%s: %v", flow, err)
		}
		checkNodes(d.T, flow, p.Roots)
	}
}

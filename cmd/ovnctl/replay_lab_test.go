//go:build lab

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/replay"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// replays are the deployments of testdata/deployments, brought up from their databases.
var replays = map[string]struct {
	// Ports without an interface in the replay, so that no packet can be sent to or from them.
	unplugged []string
	// A question about a service with session affinity.
	sticky []string
}{
	"neutron": {
		unplugged: []string{
			"lsp:b39baa7c-d413-4071-9f28-706fb8bedd4d", // a subport: VLAN 200 of its parent's interface
			"vm:stopped", // bound nowhere
		},
	},
	"kube-ovn":       {},
	"ovn-kubernetes": {sticky: []string{"shop/client", "svc:shop/sticky", "--tcp=80"}},
}

// TestReplay sends the packets of three real deployments again, on what their CMS wrote: trace has to say what the packets
// do here, and they have to do what they did there.
func TestReplay(t *testing.T) {
	for name, r := range replays {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			file := "../../testdata/deployments/" + deployments[name].file
			topology, release, err := replay.Load(ctx, file+".tar.zst")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lab.Install(ctx, release); err != nil && release == "sid" {
				t.Logf("NOT TESTED: sid cannot be installed today: %v", err)
				return
			}
			l, err := lab.Up(ctx, topology, lab.Options{Release: release})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := l.Down(); err != nil {
					t.Error(err)
				}
			})
			t.Logf("%s: up after %v", l.Release, l.Times)
			d := &replayed{lab: l, sources: []string{"--node-exec", l.Dir + "/enter {hostname}"}}
			if !topology.Zones {
				d.sources = append(d.sources, "--nb", l.NB())
			}
			saved := d.backup(ctx, t)
			if len(r.sticky) > 0 {
				d.checkAffinity(ctx, t, r.sticky, saved)
			}
			packets := sentPackets(t, file+".packets")
			d.checkPackets(ctx, t, packets, r.unplugged)
			var nodes sync.WaitGroup
			for _, n := range topology.Nodes {
				nodes.Go(func() { d.checkDoctor(ctx, t, n.Name) })
			}
			nodes.Wait()
			d.checkMissingFlow(ctx, t, packets[0].args)
		})
	}
}

// A replayed deployment is asked live.
type replayed struct {
	lab     *lab.Lab
	sources []string

	mu       sync.Mutex
	sent, as int // packets, and those that did what they did in the deployment
	agreed   int // verdicts that say what the packets did
}

// backup saves the replay once it has the bindings that were saved: the same ports, each up where it was. A gateway may
// move once more while tunnels come up.
func (d *replayed) backup(ctx context.Context, t *testing.T) string {
	t.Helper()
	want := bindings(ctx, t, d.lab.Topology.Saved)
	for try := 1; ; try++ {
		saved := t.TempDir()
		if err := d.lab.Backup(ctx, saved); err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(want, bindings(ctx, t, saved))
		if diff == "" {
			t.Logf("%d port bindings as saved", len(want))
			return saved
		}
		if try == 5 {
			t.Fatalf("Port_Bindings (-saved +replayed):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
	}
}

// bindings returns the chassis of each port, and whether it is up, by zone and port.
func bindings(ctx context.Context, t *testing.T, source string) map[string]string {
	t.Helper()
	tree, err := archive.Open(ctx, source)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	zones := []string{""}
	if !tree.Databases() {
		if zones, err = tree.Zones(); err != nil {
			t.Fatal(err)
		}
	}
	places := map[string]string{}
	for _, zone := range zones {
		file, err := tree.File(filepath.Join(zone, "sb.db"))
		if err != nil {
			t.Fatal(err)
		}
		southbound, err := ovsdb.ParseFile(source, file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ovsdb.Find[sb.PortBindingWorkload](ctx, southbound)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			places[zone+" "+row.LogicalPort] = fmt.Sprintf("chassis %v up %v", row.Chassis, row.Up)
		}
		_ = file.Close()
		_ = southbound.Close()
	}
	return places
}

// checkPackets sends the packets and asks trace about each.
func (d *replayed) checkPackets(ctx context.Context, t *testing.T, packets []sentPacket, unplugged []string) {
	t.Helper()
	turn := make(chan struct{}, sideBySide)
	var all sync.WaitGroup
	for _, p := range packets {
		if slices.Contains(unplugged, p.args[0]) || slices.Contains(unplugged, p.args[1]) {
			continue
		}
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			d.check(ctx, t, p)
		})
	}
	all.Wait()
	t.Logf("%d packets: %d as in the deployment, trace says what %d do", d.sent, d.as, d.agreed)
	if d.sent < 20 || d.as*10 < d.sent*9 {
		t.Errorf("want at least 20 packets, and nine of ten as in the deployment")
	}
}

// check sends one packet and asks trace about it. Both are done once more where they differ: a gateway may move between the
// two, and a busy machine loses packets.
func (d *replayed) check(ctx context.Context, t *testing.T, p sentPacket) {
	t.Helper()
	question := strings.Join(p.args, " ")
	var did journey.Outcome
	var differs []string
	for try := range 2 {
		var err error
		if did, err = d.send(ctx, p); err != nil {
			t.Errorf("%s: %v", question, err)
			return
		}
		if differs = d.trace(ctx, p.args, d.sources).differences(did); len(differs) == 0 {
			break
		}
		t.Logf("%s, try %d: %s", question, try+1, strings.Join(differs, "\n"))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent++
	if len(differs) == 0 {
		d.agreed++
	} else {
		t.Errorf("%s: %s", question, strings.Join(differs, "\n"))
	}
	if p.lost == (did != journey.Delivered) {
		d.as++
	} else {
		t.Logf("%s: %s here, not in the deployment", question, did)
	}
}

// differences returns what a trace says that packets to a healthy deployment do not.
func (r result) differences(did journey.Outcome) (wrong []string) {
	if !r.says(did) {
		wrong = append(wrong, fmt.Sprintf("packets say %s, ovnctl (exit %d) says %s %s", did, r.code, r.outcome(), r.stderr))
	}
	if found := r.trace().Disagreements; len(found) > 0 {
		wrong = append(wrong, fmt.Sprintf("nothing is wrong, ovnctl says %+v", found))
	}
	return wrong
}

// checkAffinity checks what becomes of a client that session affinity does not know: all that it sends for its first
// connection is lost on the userspace datapath, its next connection arrives. Trace follows the latter, and says so until
// OVN knows the client.
func (d *replayed) checkAffinity(ctx context.Context, t *testing.T, args []string, saved string) {
	t.Helper()
	check := func(known bool, sources ...string) {
		t.Helper()
		answer := d.trace(ctx, args, sources)
		found := answer.trace()
		walk := journey.Walk{Forward: found.Forward, Branches: found.Branches}
		for _, at := range walk.Directions() {
			if at.State == "new" && (at.Learned == nil) != known {
				t.Errorf("client known: %v, trace %v: %+v", known, sources, at.Learned)
			}
			if at.Learned != nil && (!at.Learned.Userspace || at.Learned.Stage != "ls_in_lb_aff_learn") {
				t.Errorf("trace %v: learned by %+v", sources, at.Learned)
			}
		}
		if !answer.says(journey.Delivered) {
			t.Errorf("trace %v: exit %d, %s %s", sources, answer.code, answer.outcome(), answer.stderr)
		}
	}
	q, err := d.probe(args)
	if err != nil {
		t.Fatal(err)
	}
	client, _ := d.lab.Topology.Pod(q.from)
	service, ok := d.lab.Topology.Service(q.to, q.proto)
	if !ok {
		t.Fatalf("no service %s", q.to)
	}
	connect := fmt.Sprintf("timeout 4 bash -c 'exec 3<>/dev/tcp/%s/%d'", service.VIP4, q.port)
	check(false, d.sources...)
	check(false, "--offline", saved)
	if _, err := d.lab.Run(ctx, client.Name, "bash", "-c", connect); err == nil {
		t.Errorf("%v: the first connection arrives", args)
	}
	if _, err := d.lab.Run(ctx, client.Name, "bash", "-c", connect); err != nil {
		t.Errorf("%v: the next connection fails: %v", args, err)
	}
	check(true, d.sources...)
}

// checkMissingFlow deletes the last flow of a logical flow on a packet's path: trace has to miss it.
func (d *replayed) checkMissingFlow(ctx context.Context, t *testing.T, args []string) {
	t.Helper()
	node, flow := "", journey.Step{}
	for _, h := range d.trace(ctx, args, d.sources).trace().Forward.Hops {
		for _, s := range h.Steps {
			if s.Logical != nil {
				node, flow = h.Node, s
			}
		}
	}
	of := fmt.Sprintf("cookie=%s/-1,table=%d", flow.Cookie, flow.Table)
	if _, err := d.lab.Run(ctx, node, "ovs-ofctl", "del-flows", d.lab.Topology.Bridge, of); err != nil {
		t.Fatal(err)
	}
	row := "Logical_Flow " + strings.TrimPrefix(flow.Cookie, "0x")
	missed := func(x journey.Disagreement) bool {
		return x.Kind == journey.MissingFlow && x.Row == row && x.Node == node
	}
	if found := d.trace(ctx, args, d.sources).trace().Disagreements; !slices.ContainsFunc(found, missed) {
		t.Errorf("%v: flow %s of %s is deleted on %s, trace says %+v", args, of, row, node, found)
	}
}

// send sends a packet. What nobody answers is sent again: a first packet may be lost while neighbours are resolved.
func (d *replayed) send(ctx context.Context, p sentPacket) (journey.Outcome, error) {
	q, err := d.probe(p.args)
	if err != nil {
		return "", err
	}
	outcome := journey.Dropped
	for try := 0; try < 3 && outcome == journey.Dropped && (try == 0 || !p.lost); try++ {
		truth, err := d.lab.Probe(ctx, q.from, q.to, q.proto, q.port)
		if err != nil {
			return "", err
		}
		switch {
		case truth.RoundTrip, truth.Rejected && truth.Forward: // reset by the destination: nothing listens there
			outcome = journey.Delivered
		case truth.Rejected && truth.Sent:
			outcome = journey.Rejected
		}
	}
	return outcome, nil
}

// A replayProbe is a question to trace in the lab's words.
type replayProbe struct {
	from, to, proto string
	port            int
}

// probe turns trace's arguments into a probe.
func (d *replayed) probe(args []string) (replayProbe, error) {
	q := replayProbe{from: d.name(args[0]), to: d.name(args[1])}
	for _, flag := range args[2:] {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--icmp", "--tcp", "--udp":
			q.proto = name[2:]
		case "-6":
			q.proto += "6"
			continue
		default:
			return q, fmt.Errorf("flag %s: the test does not know it", flag)
		}
		if value == "" {
			continue
		}
		port, err := strconv.Atoi(value)
		if err != nil {
			return q, err
		}
		q.port = port
	}
	if _, err := netip.ParseAddr(q.to); err == nil {
		q.proto = strings.TrimSuffix(q.proto, "6")
	}
	if a, err := netip.ParseAddr(q.from); err == nil {
		q.from = "internet"
		router := func(r netip.Prefix) bool { return r.Addr() == a }
		if slices.ContainsFunc(d.lab.Topology.Underlay.Routers, router) {
			q.from = "fab"
		}
	}
	return q, nil
}

// name returns what the lab calls an end of a question: a pod, node, service or address.
func (d *replayed) name(end string) string {
	kind, name, typed := strings.Cut(end, ":")
	switch {
	case typed && kind == "vm":
		vm := func(p lab.Pod) bool { return p.Namespace == "" && p.Pod == name }
		if i := slices.IndexFunc(d.lab.Topology.Pods, vm); i >= 0 {
			return d.lab.Topology.Pods[i].Name
		}
		return name
	case typed && slices.Contains([]string{"lsp", "node", "svc", "external"}, kind):
		return name
	}
	return end
}

// nodeOf returns the node of a sender; of one outside, any.
func (d *replayed) nodeOf(from string) string {
	if p, ok := d.lab.Topology.Pod(d.name(from)); ok {
		return p.Node
	}
	if n, ok := d.lab.Topology.Node(d.name(from)); ok {
		return n.Name
	}
	return d.lab.Topology.Nodes[0].Name
}

// trace asks on the sender's node.
func (d *replayed) trace(ctx context.Context, args, sources []string) result {
	return d.ovnctl(ctx, d.nodeOf(args[0]), slices.Concat([]string{"trace", "-o", "json"}, args, sources)...)
}

func (d *replayed) ovnctl(ctx context.Context, node string, args ...string) result {
	return (&traceDraw{lab: d.lab}).ovnctl(ctx, node, args...)
}

// checkDoctor runs doctor on a node: it finds nothing.
func (d *replayed) checkDoctor(ctx context.Context, t *testing.T, node string) {
	t.Helper()
	answer := d.ovnctl(ctx, node, append([]string{"doctor", "-o", "json"}, d.sources...)...)
	var doc doctor.Document
	if err := json.Unmarshal(answer.stdout, &doc); err != nil {
		t.Errorf("doctor on %s: exit code %d: %v\n%s", node, answer.code, err, answer.stderr)
		return
	}
	var found []string
	for _, f := range doc.Findings {
		if f.Result == doctor.Error || f.Result == doctor.Warning {
			found = append(found, fmt.Sprintf("%s %s: %s: %+v", f.Check, f.Object.Name, f.Title, f.Evidence))
		}
	}
	if len(found) > 0 {
		t.Errorf("doctor on %s found %q", node, found)
	}
}

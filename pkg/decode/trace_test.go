//go:build lab

package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// seenIn takes the lookups of a trace in the integration bridge.
func seenIn(trace *openflow.Trace) []Seen {
	var flows []Seen
	var walk func(nodes []*openflow.Node, bridge string)
	walk = func(nodes []*openflow.Node, bridge string) {
		for _, node := range nodes {
			if node.Kind == openflow.NodeBridge {
				bridge = node.Bridge
			}
			if step := node.Step; step != nil && step.Miss == openflow.Hit && step.Match != nil && bridge == "br-int" {
				var actions openflow.Actions
				for _, child := range node.Children {
					if child.Kind == openflow.NodeAction && child.Action != nil {
						actions = append(actions, child.Action)
					}
				}
				seen := SeenInStep(step)
				seen.Resubmits = resubmits(actions, nil)
				flows = append(flows, seen)
			}
			walk(node.Children, bridge)
		}
	}
	for _, pass := range trace.Passes {
		walk(pass.Roots, "")
	}
	return flows
}

// One trace is enough to know the tables, and each of its steps has a name.
func TestTrace(t *testing.T) {
	n := openNetwork(t, labtest.Shared(t, lab.OVNKubernetes()))
	d := n.decoder(t, "node1")
	var from OFPort
	for _, p := range d.Names.OFPorts("") {
		if p.LogicalPort == "shop_client" {
			from = p
		}
	}
	text := n.run(t, "node1", "ovs-appctl", "ofproto/trace", "br-int", fmt.Sprintf(
		"in_port=%d,tcp,dl_src=0a:58:0a:f4:01:06,dl_dst=0a:58:0a:f4:01:01,nw_src=10.244.1.6,nw_dst=10.244.2.7,nw_ttl=64,tp_src=1234,tp_dst=8080", from.Number),
		"--ct-next", "trk,new", "--ct-next", "trk,new", "--ct-next", "trk,new")
	trace, err := openflow.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	flows := seenIn(trace)
	version := d.Names.Version
	d.Names.Version = release.Version{}
	d.Calibrate(t.Context(), flows)
	// Without the release of the chassis, northd's is taken.
	if want := calibrate(nil, version); d.Calibration.Base(Egress) != want.Base(Egress) || d.Calibration.EgressVote.For == 0 ||
		d.Calibration.IngressVote.Against+d.Calibration.EgressVote.Against != 0 {
		t.Errorf("%d flows say egress base %d by %+v and %+v, want %d", len(flows), d.Calibration.Base(Egress),
			d.Calibration.IngressVote, d.Calibration.EgressVote, want.Base(Egress))
	}
	t.Logf("%d flows of a trace, %s", len(flows), d.Calibration.Source())
	var stages, objects []string
	for _, seen := range flows {
		m := d.Decode(t.Context(), seen)
		stages = append(stages, m.String())
		if m.Unknown != "" || m.UnknownObject != "" || m.Pipeline != "" && m.Flow == nil {
			t.Errorf("%v: %q, %q", m.Place, m.Unknown, m.UnknownObject)
		}
		for _, o := range m.Objects {
			objects = append(objects, o.Text)
		}
	}
	for _, want := range []string{"PHY_TO_LOG", "ingress 0 ls_in_check_port_sec", "LOCAL_OUTPUT", "ingress 13 lr_in_ip_routing", "REMOTE_OUTPUT", "CHK_IN_PORT_SEC"} {
		if !slices.Contains(stages, want) {
			t.Errorf("no %s among\n%s", want, strings.Join(stages, "\n"))
		}
	}
	if !slices.Contains(objects, "port shop_client (Pod shop/client)") {
		t.Errorf("no pod among\n%s", strings.Join(objects, "\n"))
	}
}

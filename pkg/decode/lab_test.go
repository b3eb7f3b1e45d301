//go:build lab

package decode

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// network is the lab with its databases open.
type network struct {
	*lab.Lab
	nb, sb  ovsdb.Reader
	logical *Logical
	rows    Southbound
}

func openNetwork(t *testing.T, l *lab.Lab) *network {
	t.Helper()
	n := &network{Lab: l}
	n.nb, n.sb = ovsdbtest.Dial(t, "OVN_Northbound", l.NB()), ovsdbtest.Dial(t, "OVN_Southbound", l.SB())
	if err := ovsdb.Load(t.Context(), n.sb, &n.rows); err != nil {
		t.Fatal(err)
	}
	n.logical = NewLogical(n.rows)
	return n
}

// run runs a command on a host of the lab.
func (n *network) run(t *testing.T, host string, args ...string) string {
	t.Helper()
	out, err := n.Command(t.Context(), host, args...).Output()
	if err != nil {
		t.Fatalf("%s: %s: %v", host, strings.Join(args, " "), err)
	}
	return string(out)
}

// decoder makes the decoder of a node, as yet without calibration.
func (n *network) decoder(t *testing.T, node string) *Decoder {
	t.Helper()
	vswitch := ovsdbtest.Dial(t, "Open_vSwitch", "unix:"+n.Dir+"/"+node+"/run/openvswitch/db.sock")
	var rows Vswitch
	if err := ovsdb.Load(t.Context(), vswitch, &rows); err != nil {
		t.Fatal(err)
	}
	tlvs := openflow.ParseTLVMap(n.run(t, node, "ovs-ofctl", "-O", "OpenFlow15", "dump-tlv-map", "br-int"))
	version := release.Parse(n.run(t, node, "ovn-appctl", "-t", "ovn-controller", "version"))
	return &Decoder{
		Names: NewNames(n.logical, rows, tlvs, version),
		Flows: NewLogicalFlows(n.sb), Objects: NewObjects(n.nb),
	}
}

// dump reads the flows of the integration bridge of a node.
func (n *network) dump(t *testing.T, node string) []openflow.FlowEntry {
	t.Helper()
	var entries []openflow.FlowEntry
	for line := range strings.Lines(n.run(t, node, "ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", "br-int")) {
		if strings.Contains(line, "actions=") {
			entry, err := new(openflow.Reader).FlowEntry(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, entry)
		}
	}
	if len(entries) < 500 {
		t.Fatalf("%s: only %d flows in br-int", node, len(entries))
	}
	return entries
}

// flows is the dump as the decoder takes it; table 0 is not written there.
func (n *network) flows(t *testing.T, node string) []Seen {
	t.Helper()
	var flows []Seen
	for _, e := range n.dump(t, node) {
		flows = append(flows, SeenIn(&e))
	}
	return flows
}

func TestLab(t *testing.T) {
	n := openNetwork(t, labtest.Shared(t, lab.OVNKubernetes()))
	t.Run("calibrates", n.calibrates)
	t.Run("decodes", n.decodes)
	t.Run("names", n.names)
}

// Kube-OVN names its objects in other ways.
func TestLabKubeOVN(t *testing.T) {
	n := openNetwork(t, labtest.Own(t, lab.KubeOVN(), lab.Options{}))
	t.Run("decodes", n.decodes)
	t.Run("names", n.names)
}

// calibrates learns the tables of each node: the vote is unanimous and is what
// the profile of the release says.
func (n *network) calibrates(t *testing.T) {
	for _, node := range n.Topology.Nodes {
		d := n.decoder(t, node.Name)
		flows := n.flows(t, node.Name)
		d.Calibrate(t.Context(), flows)
		c := d.Calibration
		t.Logf("%s: %d flows, ingress %d %+v, egress %d %+v: %s", node.Name, len(flows),
			c.Base(Ingress), c.IngressVote, c.Base(Egress), c.EgressVote, c.Source())
		if c.IngressVote.Against+c.EgressVote.Against != 0 || c.IngressVote.For < 100 || c.EgressVote.For < 50 {
			t.Errorf("%s: votes %+v and %+v, want unanimous ones of many", node.Name, c.IngressVote, c.EgressVote)
		}
		// The profile of the release and what the flows say must be the same.
		p := calibrate(nil, d.Names.Version)
		for table, of := range p.tables {
			if c.tables[table] != of {
				t.Errorf("%s: %s is table %d, the profile of %s says %d", node.Name, table, c.tables[table], d.Names.Version, of)
			}
		}
		if c.Base(Ingress) != p.Base(Ingress) || c.Base(Egress) != p.Base(Egress) {
			t.Errorf("%s: bases %d and %d, the profile says %d and %d", node.Name,
				c.Base(Ingress), c.Base(Egress), p.Base(Ingress), p.Base(Egress))
		}
		// And without a release, the flows alone.
		derived := calibrate(d.Flows.joinRows(t.Context(), n.logical, flows), release.Version{})
		t.Logf("%s: without a release: %s", node.Name, derived.Source())
		for table, of := range derived.tables {
			if p, ok := p.tables[table]; ok && p != of {
				t.Errorf("%s: derived %s as table %d, want %d", node.Name, table, of, p)
			}
		}
	}
}

// decodes leads each cookie of each node to a row, and hints to objects.
func (n *network) decodes(t *testing.T) {
	for _, node := range n.Topology.Nodes {
		d := n.decoder(t, node.Name)
		flows := n.flows(t, node.Name)
		d.Calibrate(t.Context(), flows)
		var cookies, logical, physical, objects, datapaths, several int
		kinds := map[string]int{}
		for _, seen := range flows {
			m := d.Decode(t.Context(), seen)
			if m.Pipeline != "" && m.Stage == "" {
				t.Errorf("%s: table %d: no stage", node.Name, seen.Table)
			}
			if m.Stage != "" && explainStage(m.Stage) == m.Stage {
				t.Errorf("%s: no words for %s", node.Name, m.Stage)
			}
			if m.Pipeline == "" && m.Physical == "" {
				t.Errorf("%s: table %d: neither stage nor a table with a name", node.Name, seen.Table)
			}
			if seen.Cookie == 0 {
				continue
			}
			cookies++
			for _, o := range m.Objects {
				if o.Kind == "ACL" && o.Owner == (Owner{}) {
					t.Errorf("%s: %s has no owner", node.Name, o.Text)
				}
			}
			switch {
			case m.Flow != nil:
				logical++
			case len(m.Rows) > 0:
				physical++
				kinds[m.Rows[0].Table]++
			default:
				t.Errorf("%s: cookie 0x%x, table %d: %s", node.Name, seen.Cookie, seen.Table, m.Unknown)
			}
			if len(m.Rows) > 1 {
				several++
			}
			if m.Flow != nil && m.Flow.ExternalIDs["stage-hint"] != "" {
				switch {
				case m.UnknownObject != "":
					t.Errorf("%s: %s: %s", node.Name, m.Stage, m.UnknownObject)
				case len(m.Objects) > 0:
					objects++
				default:
					datapaths++
				}
			}
		}
		t.Logf("%s: %d flows with a cookie: %d of logical flows, %d of %v, %d ambiguous; %d with an object, %d that hint at a datapath",
			node.Name, cookies, logical, physical, kinds, several, objects, datapaths)
		if objects < logical/5 {
			t.Errorf("%s: only %d flows lead to an object", node.Name, objects)
		}
	}
}

// names holds the zones and ports of each node against what its tools say.
func (n *network) names(t *testing.T) {
	for _, node := range n.Topology.Nodes {
		names := n.decoder(t, node.Name).Names
		zones := 0
		for line := range strings.Lines(n.run(t, node.Name, "ovn-appctl", "-t", "ovn-controller", "ct-zone-list")) {
			name, text, ok := strings.Cut(strings.TrimSpace(line), " ")
			number, err := strconv.Atoi(text)
			if !ok || err != nil {
				t.Fatalf("%s: ct-zone-list says %q", node.Name, line)
			}
			zones++
			found := false
			for _, z := range names.Zones(number) {
				found = found || z.Name == name && (z.Port == name || z.Datapath != nil)
			}
			if !found {
				t.Errorf("%s: zone %d is %s, not %v", node.Name, number, name, names.Zones(number))
			}
		}
		if all := allZones(names); len(all) != zones || zones < 10 {
			t.Errorf("%s: %d zones, ct-zone-list says %d", node.Name, len(all), zones)
		}
		ports := 0
		for line := range strings.Lines(n.run(t, node.Name, "ovs-vsctl", "--bare", "--format=csv", "--columns=name,ofport,external_ids", "list", "Interface")) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
			number, ids, _ := strings.Cut(rest, ",")
			p, ok := names.interfaceCalled(name)
			if !ok || strconv.Itoa(p.Number) != number {
				t.Errorf("%s: interface %s is %+v, want port %s", node.Name, name, p, number)
			}
			if same, ok := names.OFPort(p.Bridge, p.Number); !ok || same != p {
				t.Errorf("%s: port %d of %s is %+v, want %s", node.Name, p.Number, p.Bridge, same, name)
			}
			for id := range strings.FieldsSeq(strings.Trim(ids, `"`)) {
				if lport, ok := strings.CutPrefix(id, "iface-id="); ok && (p.LogicalPort != lport || p.String() != "port "+lport) {
					t.Errorf("%s: interface %s is %q, want %s", node.Name, name, p, lport)
				}
			}
			ports++
		}
		for _, other := range n.Topology.Nodes {
			if other.Name == node.Name {
				continue
			}
			tunnels := slices.DeleteFunc(names.OFPorts(""), func(p OFPort) bool {
				return p.Tunnel == nil || p.Tunnel.Chassis != other.SystemID
			})
			if len(tunnels) != 1 || tunnels[0].Tunnel.Node != other.Name || tunnels[0].Tunnel.Remote != other.IPv4.Addr() {
				t.Errorf("%s: tunnels to %s are %v", node.Name, other.Name, tunnels)
				continue
			}
			if p, ok := names.TunnelFrom(other.IPv4.Addr(), node.IPv4.Addr()); !ok || p != tunnels[0] {
				t.Errorf("%s: tunnel from %s is %v", node.Name, other.IPv4.Addr(), p)
			}
		}
		for _, port := range n.rows.Ports {
			p := names.byName[port.LogicalPort]
			if p == nil || names.Port(p.Datapath.Key, p.Key) != p {
				t.Errorf("port %s is not found again by its keys", port.LogicalPort)
			}
		}
		if index, ok := names.OptionField(); !ok || index != 0 {
			t.Errorf("%s: OVN's option is tun_metadata%d, %t", node.Name, index, ok)
		}
		t.Logf("%s: %d zones and %d ports as its tools say", node.Name, zones, ports)
	}
}

// What ovn-controller writes into tunnels reads as what it was written for.
func TestTunnelsLab(t *testing.T) {
	n := openNetwork(t, labtest.Own(t, lab.MixedEncapsulation(), lab.Options{}))
	geneve, vxlan := 0, 0
	for _, node := range n.Topology.Nodes {
		names := n.decoder(t, node.Name).Names
		for _, e := range n.dump(t, node.Name) {
			metadata, ok1 := e.Match.Field("metadata")
			reg15, ok2 := e.Match.Field("reg15")
			if e.Table.Number != 39 || !ok1 || !ok2 {
				continue
			}
			var vni, option uint64
			for _, action := range e.Actions {
				switch a := action.(type) {
				case openflow.SetField:
					switch a.Field.Name {
					case "tun_id":
						vni = a.Value.Lo
					case "tun_metadata0":
						option = a.Value.Lo
					}
				case openflow.Output:
					datapath, outport := vni, option&0xffff
					if port, _ := names.OFPort("", int(a.Port.Number)); port.Type == "vxlan" {
						datapath, outport = SplitVNI(vni)
						vxlan++
					} else {
						geneve++
					}
					if datapath != metadata.Value.Lo || outport != reg15.Value.Lo {
						t.Errorf("%s: %s goes to datapath %d, outport %#x", node.Name, e, datapath, outport)
					}
				}
			}
		}
	}
	if geneve < 5 || vxlan < 5 {
		t.Errorf("%d outputs to Geneve, %d to VXLAN", geneve, vxlan)
	}
}

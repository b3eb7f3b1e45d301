package ovssim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A Source is what is known of a node's switch. What is missing is taken as empty, but without Datapath the datapath's
// ports go by name.
type Source struct {
	Bridges []BridgeSource

	// The rows of the node's Open_vSwitch database.
	Rows       []vswitch.Bridge
	Ports      []vswitch.Port
	Interfaces []vswitch.Interface
	Samples    []vswitch.FlowSampleCollectorSet

	// Replies of ovs-vswitchd to control commands.
	Datapath    string // dpif/show: the datapath's port numbers
	Routes      string // ovs/route/show: where tunnels leave the node
	Neighbours  string // tnl/neigh/show: MAC addresses of the other ends
	TunnelPorts string // tnl/ports/show -v: where tunnels arrive
	Bonds       string // bond/show: which of their members take part

	// Connections are the tracked connections by type of datapath: "system", "netdev". If not nil, a packet belongs to
	// its connection among them; otherwise all connections are new.
	Connections map[string][]openflow.Connection

	// Version is that of Open vSwitch, "3.1.0"; "": that of the oldest which is simulated.
	Version string

	Names bool // use port names in traces, like ofproto/trace --names
}

// A BridgeSource is what is known of a bridge besides its rows.
type BridgeSource struct {
	Name   string
	Flows  []openflow.FlowEntry // must not be modified afterwards
	Groups []openflow.GroupEntry
	Ports  []openflow.PortDesc // nil: not read
	TLVs   []openflow.TLV      // nil: not read
	FDB    []openflow.FDBEntry

	// Features is the reply to dpif/show-dp-features; "": the bridge's datapath can do what others of its type can today.
	Features string

	// Flood is the order in which NORMAL floods, as names of Port rows; that of FLOOD and ALL follows from it and the ports'
	// numbers. No dump shows it; ports that are not named come last, by number.
	Flood []string

	native bool // tunnel routes and neighbours are known
}

// A Switch is a node's bridges, ready for traces. It is safe for concurrent use, except for traces with side effects.
type Switch struct {
	bridges     []*bridge
	names       bool
	routes      []route
	neighbours  []neighbour
	tunnelPorts []string             // numbers in the datapath, by the flow that finds them
	arriving    *openflow.Classifier // finds the tunnel port of a packet
	tries       openflow.Tries       // of the tables
	eager       bool                 // since 4.0: a copy is in a clone() only if what came of it cannot be undone; see also writes
	explains    bool                 // says that a group waits for a hash: since 4.0
	samples     bool                 // since 3.5: a sample for a port that the datapath does not have stays, without what it would say
	sums        bool                 // since 3.5 at the latest: UDP to an address of IPv6 has a checksum unless the row says otherwise; before it always has
	sources     bool                 // since 3.5 at the latest: a tunnel sends from the IPv6 address that its row or the flows say, not from that of the route
}

type bridge struct {
	name       string
	title      string // in traces
	flows      []openflow.FlowEntry
	classifier *openflow.Classifier
	programs   []atomic.Pointer[program] // of the flows, compiled on first use
	groups     map[uint32]*group
	ports      map[uint32]*port
	names      map[string]*port
	bundles    []*bundle // in NORMAL's flooding order
	tlvs       []openflow.TLV
	fdb        map[fdbKey]*bundle
	userspace  bool // the datapath is ovs-vswitchd's own
	can        features
	exports    bool // samples go to collectors by IPFIX
	native     bool // Open vSwitch builds the tunnel headers
	bpdu       bool // reserved addresses are forwarded too
	snooping   bool
	tree       string  // the protocol of its spanning tree: "STP" or "RSTP"; "": none
	named      bool    // use port names in traces
	tracker    tracker // nil: unknown connections
}

type fdbKey struct {
	vlan uint16
	mac  string
}

type port struct {
	bridge    *bridge
	number    uint32
	name      string
	addr      string // Ethernet address
	bundle    *bundle
	patch     bool
	peer      *port
	datapath  string // its number or name in the datapath; "" if it has none
	tunnel    *tunnel
	noReceive bool
	noTree    bool // it receives no packets of a spanning tree
	noForward bool
	noFlood   bool
	live      bool
	addressed bool // the host has an address on it
	monitors
	tree treeState
}

// A bundle is a Port row: an interface, or several that are bonded.
type bundle struct {
	name         string
	ports        []*port
	mode         vlanMode
	vlan         uint16
	trunks       map[uint16]bool // nil: all
	cvlans       map[uint16]bool // nil: all
	ethType      uint16          // of the outer tag, for a dot1q-tunnel
	priorityTags string          // "never", "if-nonzero" or "always"
	protected    bool
	bond         *openflow.Bond // nil: none
	lacp         bool
	mirrored     bool // only a mirror sends to it
}

// NewSwitch prepares a switch.
func NewSwitch(s Source) *Switch {
	sw := &Switch{names: s.Names, routes: parseRoutes(s.Routes), neighbours: parseNeighbours(s.Neighbours)}
	sw.tunnelPorts, sw.arriving = parseTunnelPorts(s.TunnelPorts)
	numbers := map[string]string{} // in the datapath, by bridge and name
	if !s.Names {
		for _, p := range openflow.ParseDatapathPorts(s.Datapath) {
			numbers[p.Bridge+" "+p.Name] = strconv.FormatUint(uint64(p.Datapath), 10)
		}
	}
	sw.eager = atLeast(s.Version, 4, 0)
	sw.explains = sw.eager
	if atLeast(s.Version, 3, 5) {
		sw.tries, sw.samples, sw.sums, sw.sources = openflow.TriesBoth, true, true, true
	}
	rows := indexRows(s)
	trackers := map[string]tracker{}
	for kind, list := range s.Connections {
		trackers[kind] = newTracker(list)
	}
	peers := map[*port]string{}
	for _, b := range s.Bridges {
		b.native = s.Routes != "" && s.Neighbours != ""
		made := sw.newBridge(b, rows, numbers, peers)
		if row := rows.bridges[b.Name]; row != nil {
			made.tracker = trackers[datapathType(row)]
		}
		sw.bridges = append(sw.bridges, made)
	}
	for p, name := range peers {
		for _, b := range sw.bridges {
			if peer := b.names[name]; peer != nil && peers[peer] == p.name {
				p.peer = peer
			}
		}
	}
	return sw
}

// atLeast reports whether a version is not older than another.
func atLeast(version string, major, minor int) bool {
	var a, b int
	_, err := fmt.Sscanf(version, "%d.%d", &a, &b)
	return err == nil && (a > major || a == major && b >= minor)
}

// rows indexes the database's rows.
type rows struct {
	bridges    map[string]*vswitch.Bridge
	ports      map[ovsdb.UUID]*vswitch.Port
	interfaces map[ovsdb.UUID]*vswitch.Interface
	exporting  map[ovsdb.UUID]bool // bridges with samples that go to collectors
	bonds      map[string]*openflow.Bond
}

func indexRows(s Source) rows {
	r := rows{map[string]*vswitch.Bridge{}, map[ovsdb.UUID]*vswitch.Port{}, map[ovsdb.UUID]*vswitch.Interface{}, map[ovsdb.UUID]bool{}, map[string]*openflow.Bond{}}
	for _, set := range s.Samples {
		r.exporting[set.Bridge] = r.exporting[set.Bridge] || len(set.IPFIX) > 0
	}
	bonds := openflow.ParseBonds(s.Bonds)
	for i := range bonds {
		r.bonds[bonds[i].Name] = &bonds[i]
	}
	for i := range s.Rows {
		r.bridges[s.Rows[i].Name] = &s.Rows[i]
	}
	for i := range s.Ports {
		r.ports[s.Ports[i].UUID] = &s.Ports[i]
	}
	for i := range s.Interfaces {
		r.interfaces[s.Interfaces[i].UUID] = &s.Interfaces[i]
	}
	return r
}

// interfacesOf returns a port's interfaces.
func (r rows) interfacesOf(port ovsdb.UUID) []*vswitch.Interface {
	var list []*vswitch.Interface
	if p := r.ports[port]; p != nil {
		for _, id := range p.Interfaces {
			if i := r.interfaces[id]; i != nil {
				list = append(list, i)
			}
		}
	}
	return list
}

func (sw *Switch) newBridge(s BridgeSource, r rows, numbers map[string]string, peers map[*port]string) *bridge {
	b := &bridge{name: s.Name, title: fmt.Sprintf("bridge(%q)", s.Name), groups: map[uint32]*group{}, ports: map[uint32]*port{}, names: map[string]*port{},
		tlvs: s.TLVs, fdb: map[fdbKey]*bundle{}}
	row := r.bridges[s.Name]
	b.userspace = row != nil && (row.DatapathType == "netdev" || row.DatapathType == "dummy")
	b.can = newFeatures(s.Features, b.userspace)
	for _, d := range s.Ports {
		p := &port{bridge: b, number: d.Port.Number, name: d.Port.Name, addr: d.Addr, live: !slices.Contains(d.State, "LINK_DOWN"), tree: freeState}
		p.noReceive, p.noTree = slices.Contains(d.Config, "NO_RECV"), slices.Contains(d.Config, "NO_RECV_STP")
		p.noForward = slices.Contains(d.Config, "NO_FWD")
		p.noFlood = slices.Contains(d.Config, "NO_FLOOD")
		b.ports[p.number] = p
	}
	if row != nil {
		// Without both, tunnel destinations are unknown.
		b.native = b.can.tunnels && s.native
		b.exports = len(row.IPFIX) > 0 || r.exporting[row.UUID]
		b.bpdu = row.OtherConfig["forward-bpdu"] == "true"
		b.snooping = row.McastSnoopingEnable
		switch {
		case row.STPEnable:
			b.tree = "STP"
		case row.RSTPEnable:
			b.tree = "RSTP"
		}
		for _, id := range row.Ports {
			if p := r.ports[id]; p != nil {
				b.addBundle(p, r, peers)
			}
		}
	}
	for _, p := range b.ports {
		p.datapath = numbers[s.Name+" "+p.name]
		if len(numbers) == 0 && !p.patch {
			p.datapath = p.name
			if p.tunnel != nil {
				p.datapath = p.tunnel.device()
			}
		}
		p.addressed = slices.ContainsFunc(sw.routes, func(r route) bool { return r.local && r.device == p.name })
		b.names[p.name] = p
	}
	slices.SortFunc(b.bundles, func(a, b *bundle) int {
		return cmp.Or(cmp.Compare(place(s.Flood, a.name), place(s.Flood, b.name)), cmp.Compare(a.ports[0].number, b.ports[0].number))
	})
	b.classify(s, sw.names)
	b.index(sw.tries)
	for _, e := range s.FDB {
		if p := b.find(e.Port); p != nil && p.bundle != nil {
			b.fdb[fdbKey{e.VLAN, e.MAC}] = p.bundle
		}
	}
	return b
}

func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// classify prepares flows and groups, which may refer to ports by name.
func (b *bridge) classify(s BridgeSource, names bool) {
	flows := slices.Clone(s.Flows)
	for i := range flows {
		flows[i].Match = b.knowPorts(flows[i].Match, names)
	}
	b.named, b.flows = names, flows
	for _, g := range s.Groups {
		b.groups[g.ID] = newGroup(g)
	}
}

// index prepares the bridge's flows for lookups.
func (b *bridge) index(tries openflow.Tries) {
	b.classifier = openflow.NewClassifier(b.flows)
	b.classifier.With(tries)
	b.programs = make([]atomic.Pointer[program], len(b.flows))
}

// knowPorts gives in_port the number of the port that it names, and the name if the trace uses names.
func (b *bridge) knowPorts(m openflow.Match, names bool) openflow.Match {
	for i, t := range m.Terms {
		if t.Port == (packet.PortID{}) || !names && t.Port.Name == "" {
			continue
		}
		if p := b.find(t.Port); p != nil {
			terms := slices.Clone(m.Terms)
			terms[i].Port = packet.PortID{Number: p.number}
			if names {
				terms[i].Port = p.id()
			}
			terms[i].Value = packet.Uint(uint64(p.number))
			m.Terms = terms
		}
	}
	return m
}

// id returns the port's number and name. LOCAL is not referred to by name.
func (p *port) id() packet.PortID {
	if p.number >= packet.PortMax {
		return packet.PortID{Number: p.number}
	}
	return packet.PortID{Number: p.number, Name: p.name}
}

// addBundle adds a Port row, with its interfaces that have an OpenFlow port.
func (b *bridge) addBundle(row *vswitch.Port, r rows, peers map[*port]string) {
	u := newBundle(row)
	u.bond = r.bonds[row.Name]
	for _, i := range r.interfacesOf(row.UUID) {
		p := b.portOf(i)
		if p == nil {
			continue
		}
		p.name, p.bundle = i.Name, u
		if i.Type == "patch" {
			p.patch = true
			peers[p] = i.Options["peer"]
		}
		p.tunnel = newTunnel(i)
		p.monitors, p.tree = newMonitors(i), newTreeState(b.tree, row)
		u.ports = append(u.ports, p)
	}
	if len(u.ports) > 0 {
		b.bundles = append(b.bundles, u)
	}
}

// portOf returns an interface's OpenFlow port.
func (b *bridge) portOf(i *vswitch.Interface) *port {
	if len(i.OFPort) > 0 {
		return b.ports[uint32(i.OFPort[0])]
	}
	for _, p := range b.ports {
		if p.name == cut(i.Name) {
			return p
		}
	}
	return nil
}

// cut truncates a name as OpenFlow does.
func cut(name string) string {
	const most = 15
	if len(name) > most {
		return name[:most]
	}
	return name
}

// find returns the port with a number or name; nil if there is none.
func (b *bridge) find(id packet.PortID) *port {
	if id.Name == "" || id.Number != 0 {
		return b.ports[id.Number]
	}
	if p := b.names[id.Name]; p != nil {
		return p
	}
	for _, p := range b.ports {
		if p.name == id.Name || cut(p.name) == id.Name {
			return p
		}
	}
	return nil
}

func newBundle(row *vswitch.Port) *bundle {
	u := &bundle{name: row.Name, protected: row.Protected, lacp: len(row.LACP) > 0 && row.LACP[0] != "off", priorityTags: row.OtherConfig["priority-tags"], ethType: 0x88a8}
	if len(row.Tag) > 0 {
		u.vlan = uint16(row.Tag[0])
	}
	if u.priorityTags == "true" {
		u.priorityTags = "if-nonzero"
	}
	if row.OtherConfig["qinq-ethtype"] == "802.1q" {
		u.ethType = 0x8100
	}
	u.trunks, u.cvlans = vlanSet(row.Trunks), vlanSet(row.CVLANs)
	mode := ""
	if len(row.VLANMode) > 0 {
		mode = row.VLANMode[0]
	}
	switch {
	case mode == "access", mode == "" && len(row.Tag) > 0:
		u.mode = access
	case mode == "native-tagged":
		u.mode = nativeTagged
	case mode == "native-untagged":
		u.mode = nativeUntagged
	case mode == "dot1q-tunnel":
		u.mode = dot1qTunnel
	}
	if u.trunks != nil && (u.mode == nativeTagged || u.mode == nativeUntagged) {
		u.trunks[u.vlan] = true
	}
	return u
}

func vlanSet(list []int) map[uint16]bool {
	if len(list) == 0 {
		return nil
	}
	set := map[uint16]bool{}
	for _, v := range list {
		set[uint16(v)] = true
	}
	return set
}

// A route is a line of ovs/route/show.
type route struct {
	to     netip.Prefix
	device string
	via    netip.Addr // not valid: none
	source netip.Addr
	mark   uint64
	local  bool // an address of the host
}

func parseRoutes(text string) []route {
	var list []route
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		to, err := netip.ParsePrefix(words[1])
		if err != nil {
			continue
		}
		r := route{to: to, local: words[len(words)-1] == "local"}
		for i := 2; i+1 < len(words); i++ {
			switch words[i] {
			case "dev":
				r.device = words[i+1]
			case "GW":
				r.via, _ = netip.ParseAddr(words[i+1])
			case "MARK":
				r.mark, _ = strconv.ParseUint(words[i+1], 10, 32)
			case "SRC":
				r.source, _ = netip.ParseAddr(words[i+1])
			}
		}
		list = append(list, r)
	}
	return list
}

// A neighbour is a line of tnl/neigh/show.
type neighbour struct {
	addr        netip.Addr
	mac, bridge string
}

func parseNeighbours(text string) []neighbour {
	var list []neighbour
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		if addr, err := netip.ParseAddr(words[0]); err == nil {
			list = append(list, neighbour{addr, words[1], words[2]})
		}
	}
	return list
}

// parseTunnelPorts reads tnl/ports/show -v: a packet that matches a line is decapsulated.
func parseTunnelPorts(text string) (numbers []string, arriving *openflow.Classifier) {
	var flows []openflow.FlowEntry
	for line := range strings.Lines(text) {
		head, fields, ok := strings.Cut(strings.TrimSpace(line), " : ")
		name, number, both := strings.Cut(strings.TrimSuffix(head, ")"), " (")
		if !ok || !both || name == "" {
			continue
		}
		attrs, err := openflow.ParseAttrs(fields)
		if err != nil {
			continue
		}
		terms := append(tunnelTerms(attrs), "vlan_tci=0x0000", "ip_frag=no")
		if m, err := openflow.ParseMatch(strings.Join(terms, ",")); err == nil {
			numbers = append(numbers, number)
			flows = append(flows, openflow.FlowEntry{Match: m})
		}
	}
	return numbers, openflow.NewClassifier(flows).With(openflow.NoTries)
}

// tunnelTerms returns the match terms for a packet's attributes.
func tunnelTerms(attrs openflow.Attrs) []string {
	var terms []string
	for _, a := range attrs {
		if a.Name == "eth_type" {
			terms = append(terms, "dl_type="+attrs.Value("eth_type"))
			continue
		}
		for _, f := range a.List {
			if name := tunnelFields.Get()[a.Name+" "+f.Name]; name != "" {
				terms = append(terms, name+"="+f.Value)
			}
		}
	}
	return terms
}

// tunnelFields maps the fields by which tnl/ports/show identifies packets.
var tunnelFields = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"eth dst": "dl_dst", "ipv4 dst": "nw_dst", "ipv4 proto": "nw_proto", "ipv6 dst": "ipv6_dst", "ipv6 proto": "nw_proto", "udp dst": "udp_dst",
	}
}}

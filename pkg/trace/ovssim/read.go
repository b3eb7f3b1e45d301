package ovssim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A Host is what Read reads from; a [node.Host] is one.
type Host interface {
	Vswitch(ctx context.Context) (ovsdb.Reader, error)
	Control(ctx context.Context, daemon, command string, args ...string) (string, error)
	Dump(ctx context.Context, bridge string, kind node.DumpKind) (string, error)
}

// Read gathers what a node's switch depends on, live or saved. A bridge without flows is left out; for anything else
// that is missing, an error says what is assumed or taken as empty; so it does for a line that cannot be read. With neither the database nor any flows there is no
// source.
func Read(ctx context.Context, h Host) (*Source, []error) {
	var rows struct {
		Bridges    []vswitch.Bridge
		Ports      []vswitch.Port
		Interfaces []vswitch.Interface
		Samples    []vswitch.FlowSampleCollectorSet
		Switch     []vswitch.OpenvSwitch
	}
	db, err := h.Vswitch(ctx)
	if err == nil {
		err = errors.Join(ovsdb.Load(ctx, db, &rows), db.Close())
	}
	if err != nil {
		return nil, []error{err}
	}
	s := &Source{Rows: rows.Bridges, Ports: rows.Ports, Interfaces: rows.Interfaces, Samples: rows.Samples}
	if len(rows.Switch) > 0 {
		s.Version = rows.Switch[0].OVSVersion.Get()
	}
	var missing []error
	native := false
	for _, b := range rows.Bridges {
		native = native || b.DatapathType == "netdev"
		source, errs := readBridge(ctx, h, b.Name)
		missing = append(missing, errs...)
		if source != nil {
			s.Bridges = append(s.Bridges, *source)
		}
	}
	if len(s.Bridges) == 0 {
		return nil, append(missing, errors.New("the flows of no bridge could be read"))
	}
	s.assume()
	ask := func(into *string, command string, args ...string) {
		reply, err := h.Control(ctx, "ovs-vswitchd", command, args...)
		if *into = reply; err != nil {
			missing = append(missing, err)
		}
	}
	ask(&s.Datapath, "dpif/show")
	if slices.ContainsFunc(rows.Ports, func(p vswitch.Port) bool { return len(p.Interfaces) > 1 }) {
		ask(&s.Bonds, "bond/show")
	}
	if native {
		ask(&s.Routes, "ovs/route/show")
		ask(&s.Neighbours, "tnl/neigh/show")
		ask(&s.TunnelPorts, "tnl/ports/show", "-v")
	}
	return s, missing
}

// AddFlow adds a flow to a bridge, as [openflow.AddFlow] does.
func (s *Source) AddFlow(bridge string, e openflow.FlowEntry) {
	for i := range s.Bridges {
		if b := &s.Bridges[i]; b.Name == bridge {
			b.Flows = openflow.AddFlow(b.Flows, e)
		}
	}
}

// assume fills in what was not saved but can be derived: the database has the bridges' ports, and the option of OVN's
// tunnels is the same in every release. Without them, everything for other nodes would be dropped.
func (s *Source) assume() {
	r := indexRows(*s)
	for i := range s.Bridges {
		b := &s.Bridges[i]
		var interfaces []*vswitch.Interface
		for _, p := range r.bridges[b.Name].Ports {
			interfaces = append(interfaces, r.interfacesOf(p)...)
		}
		geneve := slices.ContainsFunc(interfaces, func(i *vswitch.Interface) bool { return i.Type == "geneve" })
		var ports []openflow.PortDesc
		for _, i := range interfaces {
			if number := i.OFPort.Get(); number > 0 {
				ports = append(ports, openflow.PortDesc{Port: packet.PortID{Number: uint32(number), Name: i.Name}, Addr: i.MACInUse.Get()})
			}
		}
		if b.Ports == nil {
			b.Ports = ports
		}
		if b.TLVs == nil && geneve {
			b.TLVs = []openflow.TLV{openflow.OVNTunnelOption}
		}
	}
}

func readBridge(ctx context.Context, h Host, name string) (*BridgeSource, []error) {
	s := &BridgeSource{Name: name}
	var missing []error
	dump := func(kind node.DumpKind, need bool) (openflow.Dump, bool) {
		text, err := h.Dump(ctx, name, kind)
		if err != nil {
			missing = append(missing, err)
			return nil, !need
		}
		list, bad := openflow.ParseDumpLines(text)
		for _, err := range bad {
			missing = append(missing, fmt.Errorf("%s of bridge %s, without a line: %w", kind, name, err))
		}
		return list, true
	}
	flows, ok := dump(node.Flows, true)
	if !ok {
		return nil, missing
	}
	groups, _ := dump(node.Groups, false)
	s.Flows, s.Groups = openflow.Entries[openflow.FlowEntry](flows), openflow.Entries[openflow.GroupEntry](groups)
	for kind, take := range map[node.DumpKind]func(string){
		node.Ports:  func(text string) { s.Ports = append([]openflow.PortDesc{}, openflow.ParsePortDescs(text)...) },
		node.TLVMap: func(text string) { s.TLVs = append([]openflow.TLV{}, openflow.ParseTLVMap(text)...) },
	} {
		if text, err := h.Dump(ctx, name, kind); err != nil {
			missing = append(missing, err)
		} else {
			take(text)
		}
	}
	features, err := h.Control(ctx, "ovs-vswitchd", "dpif/show-dp-features", name)
	if s.Features = features; err != nil && !errors.Is(err, node.ErrUnavailable) { // older captures have none
		missing = append(missing, err)
	}
	fdb, err := h.Control(ctx, "ovs-vswitchd", "fdb/show", name)
	if err != nil {
		missing = append(missing, err)
	}
	s.FDB = openflow.ParseFDB(fdb)
	return s, missing
}

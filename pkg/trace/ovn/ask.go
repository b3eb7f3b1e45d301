package ovn

import (
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// functions are the actions that query what OVN knows, or teach it something.
var functions = lazy.Value[map[string]func(*walker, *instruction) control]{Make: func() map[string]func(*walker, *instruction) control {
	return map[string]func(*walker, *instruction) control{
		"get_arp": (*walker).getNeighbour, "get_nd": (*walker).getNeighbour,
		"put_arp": (*walker).putNeighbour, "put_nd": (*walker).putNeighbour,
		"lookup_arp": (*walker).lookupNeighbour, "lookup_nd": (*walker).lookupNeighbour,
		"lookup_arp_ip": (*walker).lookupNeighbour, "lookup_nd_ip": (*walker).lookupNeighbour,
		"get_fdb": (*walker).getFDB, "lookup_fdb": (*walker).lookupFDB, "put_fdb": (*walker).putFDB,
		"get_remote_fdb": (*walker).getRemoteFDB,
		"dns_lookup":     (*walker).lookupDNS,
		"chk_lb_hairpin": (*walker).checkHairpin, "chk_lb_hairpin_reply": (*walker).checkHairpinReply, "chk_lb_aff": (*walker).checkAffinity,
		"check_in_port_sec": (*walker).checkInPortSecurity, "check_out_port_sec": (*walker).checkOutPortSecurity,
		"chk_ecmp_nh": (*walker).checkECMP, "chk_ecmp_nh_mac": (*walker).checkECMPMAC,
		"ct_nw_dst": (*walker).originalAddress, "ct_ip6_dst": (*walker).originalAddress,
		"ct_tp_dst": (*walker).originalPort, "ct_proto": (*walker).originalProtocol, "ct_state_save": (*walker).saveState,
		"handle_svc_check": (*walker).toController,
	}
}}

// behind returns the port whose key an argument holds; nil if there is none.
func (w *walker) behind(r ovnexpr.Ref) (*logicalflow.Port, error) {
	return w.visit.Datapath.PortByKey(w.run.ctx, int(r.Get(&w.packet).Lo))
}

// A resolution is what a router knows about an address.
type resolution struct {
	mac   packet.Value
	table string
	row   ovsdb.UUID
	known bool
}

// resolve looks up an address behind a port: first static rows that override, then learned ones, then the other static
// rows.
func (w *walker) resolve(p *logicalflow.Port, a netip.Addr) (resolution, error) {
	found, err := p.Neighbours(w.run.ctx, a)
	if err != nil {
		return resolution{}, err
	}
	static := found.Static
	if static != nil && static.OverrideDynamicMAC {
		return resolution{mac(static.MAC), "Static_MAC_Binding", static.UUID, true}, nil
	}
	if m, ok := w.run.connections.neighbours[neighbour{p, a}]; ok {
		return resolution{mac: m, known: true}, nil
	}
	if found.Learned != nil {
		return resolution{mac(found.Learned.MAC), "MAC_Binding", found.Learned.UUID, true}, nil
	}
	if static != nil {
		return resolution{mac(static.MAC), "Static_MAC_Binding", static.UUID, true}, nil
	}
	return resolution{}, nil
}

// getNeighbour writes a next hop's MAC address to eth.dst, 0 if unknown.
func (w *walker) getNeighbour(in *instruction) control {
	p, err := w.behind(in.a)
	if err != nil {
		return w.run.fail(err)
	}
	n := Note{Kind: Unresolved, Action: in.action}
	var hardware packet.Value
	if p != nil {
		a := address(in.b, &w.packet)
		r, err := w.resolve(p, a)
		if err != nil {
			return w.run.fail(err)
		}
		if r.known {
			n.Kind, n.Table, n.Row, hardware = Resolved, r.table, r.row, r.mac
		} else if w.run.engine.options.Assume {
			found, err := w.run.owner(p, a, w.visit.Chassis)
			if err != nil {
				return w.run.fail(err)
			}
			if hardware = found.mac; !hardware.IsZero() {
				n.Kind, n.Port = Assumed, found.port
			}
		}
	}
	w.set(w.run.fields.ethDst, hardware)
	w.note(n)
	return proceed
}

// putNeighbour learns an address's MAC address.
func (w *walker) putNeighbour(in *instruction) control {
	p, err := w.behind(in.a)
	if err != nil {
		return w.run.fail(err)
	}
	if p != nil {
		remember(&w.run.connections.neighbours, neighbour{p, address(in.b, &w.packet)}, in.c.Get(&w.packet))
	}
	w.note(Note{Kind: Learned, Action: in.action})
	return proceed
}

// lookupNeighbour checks whether an address is known, and with a MAC address, whether it is known to have that.
func (w *walker) lookupNeighbour(in *instruction) control {
	p, err := w.behind(in.a)
	if err != nil {
		return w.run.fail(err)
	}
	if p == nil {
		return w.result(in, false, Note{})
	}
	r, err := w.resolve(p, address(in.b, &w.packet))
	if err != nil {
		return w.run.fail(err)
	}
	known := r.known && (in.c.Symbol == nil || r.mac == in.c.Get(&w.packet))
	return w.result(in, known, Note{Table: r.table, Row: r.row})
}

// learnedAt returns the key of the port where a MAC address was learned, 0 if none.
func (w *walker) learnedAt(m packet.Value) (key int, row ovsdb.UUID, err error) {
	d := w.visit.Datapath
	if key, ok := w.run.connections.fdb[station{d, m}]; ok {
		return key, "", nil
	}
	rows, err := d.FDB(w.run.ctx)
	for _, row := range rows {
		if mac(row.MAC) == m {
			return row.PortKey, row.UUID, err
		}
	}
	return 0, "", err
}

func (w *walker) getFDB(in *instruction) control {
	key, row, err := w.learnedAt(in.a.Get(&w.packet))
	if err != nil {
		return w.run.fail(err)
	}
	w.set(in.result, packet.Uint(uint64(key)))
	w.note(Note{Kind: Tested, Action: in.action, Result: key != 0, Table: "FDB", Row: row})
	return proceed
}

func (w *walker) lookupFDB(in *instruction) control {
	key, row, err := w.learnedAt(in.b.Get(&w.packet))
	if err != nil {
		return w.run.fail(err)
	}
	return w.result(in, key != 0 && uint64(key) == in.a.Get(&w.packet).Lo, Note{Table: "FDB", Row: row})
}

func (w *walker) putFDB(in *instruction) control {
	remember(&w.run.connections.fdb, station{w.visit.Datapath, in.b.Get(&w.packet)}, int(in.a.Get(&w.packet).Lo))
	w.note(Note{Kind: Learned, Action: in.action})
	return proceed
}

// getRemoteFDB finds no EVPN neighbour: no table of the Southbound holds them.
func (w *walker) getRemoteFDB(in *instruction) control {
	w.set(in.result, packet.Value{})
	w.note(Note{Kind: Tested, Action: in.action})
	return proceed
}

// lookupDNS checks whether OVN knows the queried name.
func (w *walker) lookupDNS(in *instruction) control {
	query := strings.ToLower(strings.TrimSuffix(w.run.engine.options.Query, "."))
	if query == "" {
		return w.result(in, false, Note{})
	}
	rows, err := w.visit.Datapath.DNS(w.run.ctx)
	if err != nil {
		return w.run.fail(err)
	}
	for _, row := range rows {
		for name := range row.Records {
			if strings.ToLower(name) == query {
				return w.result(in, true, Note{Table: "DNS", Row: row.UUID})
			}
		}
	}
	return w.result(in, false, Note{})
}

// putOptions makes the reply to a request, which is assumed to be valid.
func (w *walker) putOptions(in *instruction) control {
	if in.action.(*ovnexpr.PutOptions).Name == "put_nd_ra_opts" {
		w.set(w.run.fields.icmp6Type, packet.Uint(134))
	}
	return w.result(in, true, Note{})
}

// relayDHCP assumes that a relayed message is valid.
func (w *walker) relayDHCP(in *instruction) control {
	f, a := w.run.fields, in.action.(*ovnexpr.DHCPRelay)
	switch a.Name {
	case "dhcp_relay_req_chk":
		w.set(f.src4, packet.FromAddr(a.Relay))
		w.set(f.dst4, packet.FromAddr(a.Server))
	default:
		w.set(f.ethDst, packet.Ones(48))
		w.set(f.dst4, packet.Ones(32))
	}
	return w.result(in, true, Note{})
}

func (w *walker) checkLength(in *instruction) control {
	return w.result(in, w.run.engine.options.Length > in.action.(*ovnexpr.CheckPacketLarger).Bytes, Note{})
}

// bindVirtual binds a virtual port to the port where its address was seen; the packet does not wait for it.
func (w *walker) bindVirtual(in *instruction) control {
	w.note(Note{Kind: Learned, Action: in.action})
	return proceed
}

// commitECMP remembers the next hop that a connection came from.
func (w *walker) commitECMP(in *instruction) control {
	f := w.run.fields
	remember(&w.run.connections.hops, hop{w.visit.Datapath, w.tuple()}, f.ethSrc.Get(&w.packet))
	w.note(Note{Kind: Learned, Action: in.action})
	return proceed
}

// checkECMP checks whether the packet is a reply of a connection from a known next hop.
func (w *walker) checkECMP(in *instruction) control {
	_, ok := w.run.connections.hops[hop{w.visit.Datapath, w.tuple().Reverse()}]
	return w.result(in, ok, Note{})
}

// checkECMPMAC checks whether the connection still comes from the next hop that it is known to come from.
func (w *walker) checkECMPMAC(in *instruction) control {
	f := w.run.fields
	m, ok := w.run.connections.hops[hop{w.visit.Datapath, w.tuple()}]
	return w.result(in, ok && m == f.ethSrc.Get(&w.packet), Note{})
}

func (w *walker) originalAddress(in *instruction) control {
	f := w.run.fields
	r := f.ctDst4
	if in.result.Bits == 128 {
		r = f.ctDst6
	}
	w.set(in.result, r.Get(&w.packet))
	return proceed
}

func (w *walker) originalPort(in *instruction) control {
	w.set(in.result, w.run.fields.ctDstPort.Get(&w.packet))
	return proceed
}

func (w *walker) originalProtocol(in *instruction) control {
	w.set(in.result, w.run.fields.ctProto.Get(&w.packet))
	return proceed
}

func (w *walker) saveState(in *instruction) control {
	w.set(in.result, w.run.fields.ctState.Get(&w.packet))
	return proceed
}

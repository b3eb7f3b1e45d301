package microflow

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// call runs a function of fields. Functions not listed have no effect that ovn-trace would show.
func (r *run) call(a *ovnexpr.Call) {
	switch a.Name {
	case "get_arp", "get_nd":
		r.getMAC(a)
	case "lookup_arp", "lookup_nd", "lookup_arp_ip", "lookup_nd_ip":
		r.lookupMAC(a)
	case "lookup_fdb":
		r.lookupFDB(a)
	case "get_fdb":
		k, _ := r.learnedPort(r.arg(a, 0))
		r.result(*a.Result, packet.Uint(k))
	case "get_remote_fdb":
		r.super.add(Action, "/* The remote FDB table is different per each chassis. */")
	case "dns_lookup":
		r.result(*a.Result, packet.Uint(0))
		r.super.add(Fault, "*** dns_lookup action not implemented")
	case "chk_lb_hairpin":
		r.hairpin(a, &packet.CTTPDst)
	case "chk_lb_hairpin_reply":
		r.hairpin(a, tpDst.Field)
	case "check_in_port_sec":
		r.portSecurity(a, inportReg, ethSrc)
	case "check_out_port_sec":
		r.portSecurity(a, outportReg, ethDst)
	case "ct_proto":
		r.original(a, r.p.Uint("nw_proto"))
	case "ct_tp_dst":
		r.original(a, tpDst.Get(r.p).Lo)
	case "ct_state_save":
		state := packet.Uint(0)
		if s := r.p.Get(ctState); s.Lo&packet.CTTracked != 0 {
			state = s
		}
		r.result(*a.Result, state)
		r.super.add(Action, "/* %s = %d; */", a.Result, state.Lo)
	}
}

// original writes the packet's fields for those of the connection's start, from the release on that reads them.
func (r *run) original(a *ovnexpr.Call, v uint64) {
	if !r.net.Version().Has(release.OriginalTuple) {
		return
	}
	r.result(*a.Result, packet.Uint(v))
	r.super.add(Modify, "%s = %d", a.Result, v)
}

// arg returns an argument's value.
func (r *run) arg(a *ovnexpr.Call, i int) packet.Value {
	ref, ok := r.ref(a.Args[i])
	if !ok {
		return packet.Value{}
	}
	return ref.Get(r.p)
}

// learnedMAC returns the MAC address that was learned for an address behind a port.
func (r *run) learnedMAC(a *ovnexpr.Call) (mac packet.Value, ok bool) {
	bits := 128
	if strings.Contains(a.Name, "arp") {
		bits = 32
	}
	port := r.portByKey(r.at.Datapath, int(r.arg(a, 0).Lo&0xffff))
	if port == nil {
		return mac, false
	}
	found, err := port.Neighbours(r.ctx, r.arg(a, 1).Addr(bits))
	r.fail(err)
	if err != nil || found.Learned == nil {
		return mac, false
	}
	return packet.ParseMAC(found.Learned.MAC)
}

func (r *run) getMAC(a *ovnexpr.Call) {
	mac, ok := r.learnedMAC(a)
	r.p.Set(ethDst, mac)
	if ok {
		r.super.add(Action, "/* MAC binding to %s. */", ethDst.Print(mac))
	} else {
		r.super.add(Action, "/* No MAC binding. */")
	}
	r.super.add(Modify, "eth.dst = %s", ethDst.Print(mac))
}

// lookupMAC checks whether an address was learned, with the given MAC address if there is one. The MAC address that
// ovn-trace prints is always that of the packet's receiver.
func (r *run) lookupMAC(a *ovnexpr.Call) {
	mac, ok := r.learnedMAC(a)
	byMAC := len(a.Args) > 2
	if byMAC && ok {
		ok = mac == r.arg(a, 2)
	}
	switch {
	case !ok:
		r.super.add(Action, "/* lookup failed - No MAC binding. */")
	case byMAC:
		r.super.add(Action, "/* MAC binding to %s found. */", ethDst.Print(r.p.Get(ethDst)))
	default:
		r.super.add(Action, "/* MAC binding found. */")
	}
	r.result(*a.Result, bit(ok))
}

func bit(b bool) packet.Value {
	if b {
		return packet.Uint(1)
	}
	return packet.Uint(0)
}

// learnedPort returns the key of the port behind which the switch learned a MAC address.
func (r *run) learnedPort(mac packet.Value) (uint64, bool) {
	rows, err := r.at.Datapath.FDB(r.ctx)
	r.fail(err)
	for _, row := range rows {
		if v, ok := packet.ParseMAC(row.MAC); ok && v == mac {
			return uint64(row.PortKey), true
		}
	}
	return 0, false
}

func (r *run) lookupFDB(a *ovnexpr.Call) {
	k, ok := r.learnedPort(r.arg(a, 1))
	ok = ok && k == r.arg(a, 0).Lo
	if ok {
		r.super.add(Action, "/* MAC lookup for %s found in FDB. */", ethDst.Print(r.p.Get(ethDst)))
	} else {
		r.super.add(Action, "/* lookup mac failed in mac learning table. */")
	}
	r.result(*a.Result, bit(ok))
}

// A vip is a virtual IP of a load balancer.
type vip struct {
	text string // of the address
	addr netip.Addr
	port uint16
}

// balanced returns the virtual IP that the packet was sent to: any with the address, regardless of port and datapath.
func (r *run) balanced() (vip, bool) {
	v4, v6 := r.p.Addr(&packet.CTNWDst), r.p.Addr(&packet.CTIPv6Dst)
	if v4.IsUnspecified() && v6.IsUnspecified() {
		return vip{}, false
	}
	rows, err := r.net.LoadBalancers(r.ctx)
	r.fail(err)
	var found []vip
	for _, row := range walkedRows(rows) {
		for _, key := range walked(slices.Sorted(maps.Keys(row.VIPs)), textHash) {
			if v, ok := parseVIP(key); ok && (v.addr == v4 || v.addr == v6) {
				found = append(found, v)
			}
		}
	}
	if len(found) == 0 {
		return vip{}, false
	}
	return found[r.choose("vip", len(found))], true
}

// walkedRows returns load balancers in ovn-trace's order: that in which it walks the server's reply, a hash table of
// their UUIDs as text.
func walkedRows(rows []sb.LoadBalancer) []sb.LoadBalancer {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b sb.LoadBalancer) int { return cmp.Compare(a.UUID, b.UUID) })
	rows = walked(rows, func(r sb.LoadBalancer) uint32 { return textHash(string(r.UUID)) })
	return walked(rows, func(r sb.LoadBalancer) uint32 { return rowHash(r.UUID) })
}

// parseVIP parses the key of a load balancer: 10.0.0.1:80, [fd00::1]:80, 10.0.0.1.
func parseVIP(key string) (vip, bool) {
	host, port := key, ""
	if i := strings.LastIndexByte(key, ':'); i >= 0 && (key[0] == '[' || strings.Count(key, ":") == 1) {
		if !strings.HasSuffix(key, "]") {
			host, port = key[:i], key[i+1:]
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return vip{}, false
	}
	n, err := strconv.ParseUint("0"+port, 10, 16)
	return vip{addr.String(), addr, uint16(n)}, err == nil
}

// hairpin checks whether a load balancer sent the packet back to its source. A field holds the port to compare.
func (r *run) hairpin(a *ovnexpr.Call, port *packet.Field) {
	v, ok := r.balanced()
	src, dst := r.p.AddrFields()
	ok = ok && r.p.Meets(packet.NeedsIP) && r.p.Get(ctState).Lo&packet.CTDestinationNAT != 0 &&
		r.p.Get(src) == r.p.Get(dst) && uint64(v.port) == r.p.Get(port).Lo
	r.result(*a.Result, bit(ok))
	r.super.add(Modify, "%s = %d", a.Result, bit(ok).Lo)
}

// snatToVIP shows the source address of a load-balanced backend's reply to itself.
func (r *run) snatToVIP() {
	if v, ok := r.balanced(); ok && uint64(v.port) == r.p.Uint("ct_tp_dst") {
		r.super.add(Action, "/* nat(src=%s) */", v.text)
	}
}

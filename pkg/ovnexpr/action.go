package ovnexpr

import (
	"net/netip"
	"strings"
)

// Actions are what a logical flow does, in order. No actions drop the packet, as [Drop] does.
type Actions []Action

// String writes the actions. The text parses to equal actions.
func (a Actions) String() string {
	s := make([]string, len(a))
	for i, one := range a {
		s[i] = one.String()
	}
	return strings.Join(s, " ")
}

// An Action is a *[Drop], *[Plain], *[Next], *[Load], *[Move], *[Exchange], *[Push], *[Pop], *[DecTTL], *[Nested],
// *[Call], *[CTNext], *[CTCommit], *[CTCommitTo], *[CTNAT], *[CTLB], *[Select], *[PutOptions], *[CheckPacketLarger],
// *[DHCPRelay], *[SetQueue], *[SetMeter], *[Log], *[Sample], *[ForwardGroup], *[CommitECMP], *[CommitAffinity],
// *[TriggerEvent], *[BindVirtual] or *[Mirror].
type Action interface {
	String() string
	Range() Span
	setEnd(int)
}

// A Drop is drop, alone.
type Drop struct{ Span }

// A Plain is an action without arguments: output, ct_clear, ct_snat_to_vip, igmp, mac_cache_use, flood_remote,
// handle_dhcpv6_reply, handle_bfd_msg.
type Plain struct {
	Name string
	Span
}

// A Next jumps to another table.
type Next struct {
	Given    bool   // arguments were written; otherwise the next table of the pipeline
	Pipeline string // "ingress", "egress"; "": current
	HasTable bool
	Table    int
	Span
}

// A Load writes a constant to a field: reg0 = 1;
type Load struct {
	To    Field
	Value Constant
	Span
}

// A Move copies a field: reg0 = ip4.dst;
type Move struct {
	To, From Field
	Span
}

// An Exchange exchanges two fields: eth.src <-> eth.dst;
type Exchange struct {
	A, B Field
	Span
}

// A Push pushes a field onto the flow's stack.
type Push struct {
	Field Field
	Span
}

// A Pop pops the top of the stack into a field.
type Pop struct {
	Field Field
	Span
}

// A DecTTL is ip.ttl--;
type DecTTL struct{ Span }

// A Nested runs actions on a packet made from this one: clone, arp, nd_ns, nd_na, nd_na_router, icmp4, icmp4_error,
// icmp6, icmp6_error, tcp_reset, sctp_abort, reject.
type Nested struct {
	Name    string
	Actions Actions
	Span
}

// A Call is a function of fields, with the field for its result if it has one: get_arp, get_nd, put_arp, put_nd,
// put_fdb, handle_svc_check; lookup_arp, lookup_arp_ip, lookup_nd, lookup_nd_ip, get_fdb, lookup_fdb, get_remote_fdb,
// dns_lookup, chk_lb_hairpin, chk_lb_hairpin_reply, check_in_port_sec, check_out_port_sec, chk_ecmp_nh,
// chk_ecmp_nh_mac, chk_lb_aff, ct_nw_dst, ct_ip6_dst, ct_tp_dst, ct_proto, ct_state_save.
type Call struct {
	Name   string
	Result *Field // nil if none
	Args   []Field
	Span
}

// A CTNext sends the packet through conntrack.
type CTNext struct {
	Zone string // "dnat", "snat", or "" for the datapath's
	Span
}

// A CTCommit commits the connection.
type CTCommit struct {
	Nested  bool        // written with braces
	Actions Actions     // writes to ct_mark and ct_label
	Old     []Parameter // in parentheses, up to 24.03: ct_mark and ct_label values
	Span
}

// A CTCommitTo commits the connection to a zone: ct_commit_to_zone, or ct_commit_nat, which also translates.
type CTCommitTo struct {
	Name string
	Zone string // "dnat", "snat" or ""
	Span
}

// A CTNAT translates: ct_dnat, ct_snat, ct_dnat_in_czone, ct_snat_in_czone.
type CTNAT struct {
	Name   string
	To     netip.Addr // invalid: what conntrack already knows
	Lo, Hi uint16     // port range; 0 if none
	Var    string     // a template variable instead of the address
	Span
}

// A CTLB balances load: ct_lb, ct_lb_mark, ct_lb_mark_local. The last chooses among the backends whose ports are on the
// packet's chassis.
type CTLB struct {
	Name       string
	Backends   []Backend // none: what conntrack already knows
	HashFields string
	Flag       string // "skip_snat", "force_snat" or ""
	Span
}

// A Backend is a destination of a load balancer.
type Backend struct {
	Addr        netip.Addr
	Port        uint16 // 0 if unchanged
	Var         string // a template variable instead of backends
	LogicalPort string // that has the address, in ct_lb_mark_local; else ""
}

// A Select writes one of several numbers to a field.
type Select struct {
	To         Field
	Members    []Member
	HashFields string // "" for the datapath's hash
	Span
}

// A Member is a number with its weight.
type Member struct{ ID, Weight uint16 } // Weight 0: not written, which means 100

// A PutOptions replies to DHCP or a router solicitation: put_dhcp_opts, put_dhcpv6_opts, put_nd_ra_opts.
type PutOptions struct {
	Name    string
	Result  Field
	Options []Parameter
	Span
}

// A Parameter is a name with its values.
type Parameter struct {
	Name   string
	Values Values
}

// A CheckPacketLarger tests whether the packet exceeds a number of bytes.
type CheckPacketLarger struct {
	Result Field
	Bytes  int
	Span
}

// A DHCPRelay checks a relayed message: dhcp_relay_req_chk, dhcp_relay_resp_chk.
type DHCPRelay struct {
	Name          string
	Result        Field
	Relay, Server netip.Addr
	Span
}

// A SetQueue selects the QoS queue.
type SetQueue struct {
	Queue int
	Span
}

// A SetMeter limits the rate.
type SetMeter struct {
	Rate, Burst uint64 // kbit/s and kbit; 0: no burst
	Span
}

// A Log reports the verdict of an ACL.
type Log struct {
	Verdict  string // allow, drop, reject, pass
	Severity string // alert, warning, notice, info, debug; "" means info
	Name     string
	Meter    string
	Span

	order []string // the arguments as written
}

// A Sample sends a copy of the packet to a collector.
type Sample struct {
	Probability  uint16
	CollectorSet uint32
	Domain       uint8
	Point        uint32
	Cookie       bool   // the point is the flow's cookie
	PointField   *Field // the point is in a field
	Span

	order []string
}

// A ForwardGroup sends the packet out of one of several ports.
type ForwardGroup struct {
	Liveness string // "true", "false" or ""
	Ports    []string
	Span
}

// A CommitECMP remembers the next hop a connection came from.
type CommitECMP struct {
	IPv6  bool
	Proto string // tcp, udp, sctp
	Span
}

// A CommitAffinity remembers a client's backend.
type CommitAffinity struct {
	VIP, Backend Endpoint
	Proto        string // tcp, udp, sctp; "" if the VIP has no port
	Timeout      uint16 // seconds
	Span
}

// An Endpoint is an address with a port, 0 if none.
type Endpoint struct {
	Addr netip.Addr
	Port uint16
}

// A TriggerEvent notifies the CMS.
type TriggerEvent struct {
	Event   string
	Options []Parameter
	Span
}

// A BindVirtual binds a virtual port to its parent.
type BindVirtual struct {
	Port   string
	Parent Field
	Span
}

// A Mirror sends a copy out of a port.
type Mirror struct {
	Port string
	Span
}

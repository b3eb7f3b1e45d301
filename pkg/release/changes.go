package release

// What ovnctl does differently by series of OVN, the oldest first.
const (
	// InportRequired is the first series known to refuse a microflow without inport. Earlier ones go on, and abort
	// when they check its port security.
	InportRequired Series = 2306
	// CoveredAlternatives is the first to omit match alternatives that another covers: 10.0.0.1 beside 10.0.0.0/8.
	CoveredAlternatives Series = 2309
	// NextHopsOfOtherFamily is the first whose routes can have next hops of the other address family.
	NextHopsOfOtherFamily Series = 2409
	// WithoutLabelBits is the first without names for the ct_label bits that moved to ct_mark.
	WithoutLabelBits Series = 2409
	// WithoutCommitArguments is the first whose ct_commit takes its writes in braces only.
	WithoutCommitArguments Series = 2409
	// NotedMTU is the first whose ovn-controller encodes the MTU of an ICMP error as a note.
	NotedMTU Series = 2306
	// AffinityCookie is the first whose ovn-controller gives the flows that it learns for commit_lb_aff a cookie.
	AffinityCookie Series = 2403
	// ZoneNamed is the first whose conntrack actions can name their zone; without one it is DNAT.
	ZoneNamed Series = 2409
	// AffinityInReg2 is the first whose chk_lb_aff puts the backend in other registers, the port in reg2.
	AffinityInReg2 Series = 2503
	// NextHopInXXReg1 is the first known whose ovn-controller looks up IPv6 next hops by xxreg1.
	NextHopInXXReg1 Series = 2503
	// NeighboursReturn is the first known where a packet comes back from ovn-controller's ARP and ND requests.
	NeighboursReturn Series = 2503
	// RandomPorts is the first known whose ovn-controller has ports of a range chosen at random.
	RandomPorts Series = 2503
	// RemoteRelated is the first known whose ovn-controller makes flows for ports of other zones.
	RemoteRelated Series = 2503
	// DisjointAlternatives is the first known to make alternatives of an inequality of which only one can hold.
	DisjointAlternatives Series = 2603
	// SharedResult is the first known whose helper tables leave what they find in xxreg1.
	SharedResult Series = 2603
	// OriginalTuple is the first known to save a packet's original tuple whenever it goes through conntrack.
	OriginalTuple Series = 2603
	// EgressShorter is the first whose egress pipeline has fewer tables than its ingress pipeline.
	EgressShorter Series = 2603
	// DistributedBalancers is the first with load balancers that choose among the backends on the client's chassis.
	DistributedBalancers Series = 2603
	// TranslatedACLs is the first with flows tagged acl_ct_translation, which match tcp, udp and sctp of the
	// connection.
	TranslatedACLs Series = 2603
)

// What ovnctl does differently by release of a daemon.
const (
	// FlowsKept is the first OVN whose ovn-controller keeps its flows at start until the new ones are ready.
	FlowsKept = "24.10"
	// VXLANMode is the first OVN with NB_Global options:vxlan_mode.
	VXLANMode = "24.09"
	// FlushByTuple is the first Open vSwitch whose dpctl/flush-conntrack takes a partial tuple.
	FlushByTuple = "3.1"
)

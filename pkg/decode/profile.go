package decode

import "strings"

// A PhysicalTable is one of ovn-controller's own OpenFlow tables, those that
// are no stage of a logical pipeline, by the name that its sources use.
type PhysicalTable string

// The tables of ovn-controller that this package can name; Explain says what
// each is for.
const (
	PhyToLog        PhysicalTable = "PHY_TO_LOG"
	DetectLargePkt  PhysicalTable = "LARGE_PKT_DETECT"
	ProcessLargePkt PhysicalTable = "LARGE_PKT_PROCESS"
	OutputInit      PhysicalTable = "OUTPUT_INIT"
	RemoteOutput    PhysicalTable = "REMOTE_OUTPUT"
	RemoteVTEP      PhysicalTable = "REMOTE_VTEP_OUTPUT"
	LocalOutput     PhysicalTable = "LOCAL_OUTPUT"
	CheckLoopback   PhysicalTable = "CHECK_LOOPBACK"
	SaveInport      PhysicalTable = "SAVE_INPORT"
	LogToPhy        PhysicalTable = "LOG_TO_PHY"
	MACBinding      PhysicalTable = "MAC_BINDING"
	MACLookup       PhysicalTable = "MAC_LOOKUP"
	ChkLBHairpin    PhysicalTable = "CHK_LB_HAIRPIN"
	ChkLBReply      PhysicalTable = "CHK_LB_HAIRPIN_REPLY"
	CtSNATHairpin   PhysicalTable = "CT_SNAT_HAIRPIN"
	GetFDB          PhysicalTable = "GET_FDB"
	LookupFDB       PhysicalTable = "LOOKUP_FDB"
	InPortSec       PhysicalTable = "CHK_IN_PORT_SEC"
	InPortSecND     PhysicalTable = "CHK_IN_PORT_SEC_ND"
	OutPortSec      PhysicalTable = "CHK_OUT_PORT_SEC"
	ECMPNextHopMAC  PhysicalTable = "ECMP_NH_MAC"
	ECMPNextHop     PhysicalTable = "ECMP_NH"
	ChkLBAffinity   PhysicalTable = "CHK_LB_AFFINITY"
	MACCacheUse     PhysicalTable = "MAC_CACHE_USE"
	CtZoneLookup    PhysicalTable = "CT_ZONE_LOOKUP"
	CtOrigNW        PhysicalTable = "CT_ORIG_NW_DST_LOAD"
	CtOrigIP6       PhysicalTable = "CT_ORIG_IP6_DST_LOAD"
	CtOrigTP        PhysicalTable = "CT_ORIG_TP_DST_LOAD"
	FloodRemote     PhysicalTable = "FLOOD_REMOTE_CHASSIS"
	CtStateSave     PhysicalTable = "CT_STATE_SAVE"
	CtOrigProto     PhysicalTable = "CT_ORIG_PROTO_LOAD"
	GetRemoteFDB    PhysicalTable = "GET_REMOTE_FDB"
	LearnRemoteFDB  PhysicalTable = "LEARN_REMOTE_FDB"
	EVPNARPLookup   PhysicalTable = "EVPN_ARP_LOOKUP"
)

var physicalWords = map[PhysicalTable]string{
	PhyToLog:        "from OpenFlow port to logical port",
	DetectLargePkt:  "is the packet larger than the tunnel's MTU?",
	ProcessLargePkt: "ICMP error for packets above the MTU",
	OutputInit:      "output",
	RemoteOutput:    "output to other chassis",
	RemoteVTEP:      "output to EVPN VTEPs",
	LocalOutput:     "output to ports of this chassis",
	CheckLoopback:   "drop what would go back to its inport",
	SaveInport:      "allow output to the port it came from",
	LogToPhy:        "from logical port to OpenFlow port",
	MACBinding:      "look up the next hop's MAC",
	MACLookup:       "is the neighbour known?",
	ChkLBHairpin:    "is the backend the client itself?",
	ChkLBReply:      "is it the reply of such a backend?",
	CtSNATHairpin:   "SNAT to the virtual address",
	GetFDB:          "look up the port of a learnt MAC",
	LookupFDB:       "is the source MAC learnt?",
	InPortSec:       "port security of the inport",
	InPortSecND:     "port security of the inport, ARP and ND",
	OutPortSec:      "port security of the outport",
	ECMPNextHopMAC:  "is the next hop's MAC that of the connection?",
	ECMPNextHop:     "the next hop of the connection",
	ChkLBAffinity:   "the backend of a known client",
	MACCacheUse:     "which learnt neighbours are in use",
	CtZoneLookup:    "zones of a packet from a tunnel",
	CtOrigNW:        "original IPv4 destination from conntrack",
	CtOrigIP6:       "original IPv6 destination from conntrack",
	CtOrigTP:        "original port from conntrack",
	FloodRemote:     "flood to other chassis",
	CtStateSave:     "save the state of the connection",
	CtOrigProto:     "original protocol from conntrack",
	GetRemoteFDB:    "look up the VTEP of a MAC",
	LearnRemoteFDB:  "MACs learnt from VTEPs",
	EVPNARPLookup:   "look up a neighbour behind a VTEP",
}

// Explain says in a few words what the table is for.
func (t PhysicalTable) Explain() string { return physicalWords[t] }

// A helper is a table that logical actions look things up in, with the number
// that it has in every release up to 26.03 and the releases that have it; later
// ones count from nextShift on.
type helper struct {
	table PhysicalTable
	of    int
	since func(Version) bool
}

func always(Version) bool { return true }

func since(year, month, patch int) func(Version) bool {
	return func(v Version) bool { return v.atLeast(year, month, patch) }
}

// backported is since, and the named releases of older series.
func backported(spans string, year, month, patch int) func(Version) bool {
	return func(v Version) bool { return v.in(spans) || v.atLeast(year, month, patch) }
}

var helpers = []helper{
	{MACBinding, 66, always},
	{MACLookup, 67, always},
	{ChkLBHairpin, 68, always},
	{ChkLBReply, 69, always},
	{CtSNATHairpin, 70, always},
	{GetFDB, 71, since(21, 3, 0)},
	{LookupFDB, 72, since(21, 3, 0)},
	{InPortSec, 73, since(22, 6, 0)},
	{InPortSecND, 74, since(22, 6, 0)},
	{OutPortSec, 75, since(22, 6, 0)},
	{ECMPNextHopMAC, 76, since(22, 6, 1)},
	{ECMPNextHop, 77, since(22, 6, 1)},
	{ChkLBAffinity, 78, since(22, 12, 0)},
	{MACCacheUse, 79, since(23, 9, 0)},
	{CtZoneLookup, 80, backported("24.03.6+", 24, 9, 0)},
	{CtOrigNW, 81, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{CtOrigIP6, 82, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{CtOrigTP, 83, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{FloodRemote, 84, since(25, 3, 0)},
	{CtStateSave, 85, backported("24.03.6+ 24.09.3+", 25, 3, 1)},
	{CtOrigProto, 86, since(25, 9, 0)},
	{GetRemoteFDB, 87, since(25, 9, 0)},
	{LearnRemoteFDB, 88, since(26, 3, 0)},
	{EVPNARPLookup, 113 - nextShift, since(26, 4, 0)},
}

// A layout is how a span of releases numbers the output tables: what differs
// from release to release. A zero number means that the table is missing.
type layout struct {
	releases string
	detect, process, init,
	remote, vtep, local, loopback,
	egress int
}

// The layouts that were released, read from each tag. Development after 26.03
// moved everything from SAVE_INPORT on by 24; see next.
var layouts = []layout{
	{releases: "20.12", remote: 32, local: 33, loopback: 34, egress: 40},
	{releases: "21.03 21.06 21.09 21.12 22.03 22.06 22.09.0 22.09.1 22.12.0 23.03.0",
		remote: 37, local: 38, loopback: 39, egress: 40},
	{releases: "22.09.2+ 22.12.1+ 23.03.1+ 23.06.1+ 23.09 24.03",
		detect: 37, process: 38, remote: 39, local: 40, loopback: 41, egress: 42},
	{releases: "23.06.0", init: 37, detect: 38, process: 39, remote: 40, local: 41, loopback: 42, egress: 43},
	{releases: "24.09 25.03", detect: 40, process: 41, remote: 42, local: 43, loopback: 44, egress: 45},
	{releases: "25.09", detect: 41, process: 42, remote: 43, vtep: 44, local: 45, loopback: 46, egress: 47},
	{releases: "26.03", detect: 42, process: 43, remote: 44, vtep: 45, local: 46, loopback: 47, egress: 48},
}

// newest is a release that has every table which any release has.
var newest = Version{26, 3, 99}

// next is the layout of what comes after the last known release, as far as it
// can be seen in development; a guess, and named so by the Calibration.
var next = layout{detect: 52, process: 53, remote: 54, vtep: 55, local: 56, loopback: 57, egress: 62}

// How development after 26.03 moved SAVE_INPORT, LOG_TO_PHY and the helpers.
const nextShift = 24

const (
	ingressBase = 8 // of every release so far
	saveInport  = 64
	logToPhy    = 65
)

// profile returns the tables of release v, and whether v is a release that the
// layouts were read from rather than a newer one.
func profile(v Version) (tables map[PhysicalTable]int, egress int, known bool) {
	if v == (Version{}) {
		return nil, 0, false
	}
	for _, l := range layouts {
		if v.in(l.releases) {
			return l.tables(v, 0), l.egress, true
		}
	}
	if v.atLeast(26, 4, 0) {
		return next.tables(v, nextShift), next.egress, false
	}
	return nil, 0, false
}

// span names the first and the last release of a layout.
func (l layout) span() string {
	releases := strings.Fields(strings.ReplaceAll(l.releases, "+", ""))
	if len(releases) == 1 {
		return releases[0]
	}
	return releases[0] + " to " + releases[len(releases)-1]
}

func (l layout) tables(v Version, shift int) map[PhysicalTable]int {
	tables := map[PhysicalTable]int{
		PhyToLog:     0,
		RemoteOutput: l.remote, LocalOutput: l.local, CheckLoopback: l.loopback,
		SaveInport: saveInport + shift, LogToPhy: logToPhy + shift,
	}
	for table, of := range map[PhysicalTable]int{
		OutputInit: l.init, DetectLargePkt: l.detect, ProcessLargePkt: l.process, RemoteVTEP: l.vtep,
	} {
		if of != 0 {
			tables[table] = of
		}
	}
	for _, h := range helpers {
		if h.since(v) {
			tables[h.table] = h.of + shift
		}
	}
	return tables
}

package decode

import "strings"

// A PhysicalTable is one of ovn-controller's own OpenFlow tables, those that
// are no stage of a logical pipeline, by the name that its sources use.
type PhysicalTable string

// The tables of ovn-controller that this package can name; Explain says what
// each is for.
const (
	phyToLog        PhysicalTable = "PHY_TO_LOG"
	detectLargePkt  PhysicalTable = "LARGE_PKT_DETECT"
	processLargePkt PhysicalTable = "LARGE_PKT_PROCESS"
	outputInit      PhysicalTable = "OUTPUT_INIT"
	remoteOutput    PhysicalTable = "REMOTE_OUTPUT"
	remoteVTEP      PhysicalTable = "REMOTE_VTEP_OUTPUT"
	localOutput     PhysicalTable = "LOCAL_OUTPUT"
	checkLoopback   PhysicalTable = "CHECK_LOOPBACK"
	saveInport      PhysicalTable = "SAVE_INPORT"
	logToPhy        PhysicalTable = "LOG_TO_PHY"
	macBinding      PhysicalTable = "MAC_BINDING"
	macLookup       PhysicalTable = "MAC_LOOKUP"
	chkLBHairpin    PhysicalTable = "CHK_LB_HAIRPIN"
	chkLBReply      PhysicalTable = "CHK_LB_HAIRPIN_REPLY"
	ctSNATHairpin   PhysicalTable = "CT_SNAT_HAIRPIN"
	getFDB          PhysicalTable = "GET_FDB"
	lookupFDB       PhysicalTable = "LOOKUP_FDB"
	inPortSec       PhysicalTable = "CHK_IN_PORT_SEC"
	inPortSecND     PhysicalTable = "CHK_IN_PORT_SEC_ND"
	outPortSec      PhysicalTable = "CHK_OUT_PORT_SEC"
	ecmpNextHopMAC  PhysicalTable = "ECMP_NH_MAC"
	ecmpNextHop     PhysicalTable = "ECMP_NH"
	chkLBAffinity   PhysicalTable = "CHK_LB_AFFINITY"
	macCacheUse     PhysicalTable = "MAC_CACHE_USE"
	ctZoneLookup    PhysicalTable = "CT_ZONE_LOOKUP"
	ctOrigNW        PhysicalTable = "CT_ORIG_NW_DST_LOAD"
	ctOrigIP6       PhysicalTable = "CT_ORIG_IP6_DST_LOAD"
	ctOrigTP        PhysicalTable = "CT_ORIG_TP_DST_LOAD"
	floodRemote     PhysicalTable = "FLOOD_REMOTE_CHASSIS"
	ctStateSave     PhysicalTable = "CT_STATE_SAVE"
	ctOrigProto     PhysicalTable = "CT_ORIG_PROTO_LOAD"
	getRemoteFDB    PhysicalTable = "GET_REMOTE_FDB"
	learnRemoteFDB  PhysicalTable = "LEARN_REMOTE_FDB"
	evpnARPLookup   PhysicalTable = "EVPN_ARP_LOOKUP"
)

var physicalWords = map[PhysicalTable]string{
	phyToLog:        "from OpenFlow port to logical port",
	detectLargePkt:  "is the packet larger than the tunnel's MTU?",
	processLargePkt: "ICMP error for packets above the MTU",
	outputInit:      "output",
	remoteOutput:    "output to other chassis",
	remoteVTEP:      "output to EVPN VTEPs",
	localOutput:     "output to ports of this chassis",
	checkLoopback:   "drop what would go back to its inport",
	saveInport:      "allow output to the port it came from",
	logToPhy:        "from logical port to OpenFlow port",
	macBinding:      "look up the next hop's MAC",
	macLookup:       "is the neighbour known?",
	chkLBHairpin:    "is the backend the client itself?",
	chkLBReply:      "is it the reply of such a backend?",
	ctSNATHairpin:   "SNAT to the virtual address",
	getFDB:          "look up the port of a learned MAC",
	lookupFDB:       "is the source MAC learned?",
	inPortSec:       "port security of the inport",
	inPortSecND:     "port security of the inport, ARP and ND",
	outPortSec:      "port security of the outport",
	ecmpNextHopMAC:  "is the next hop's MAC that of the connection?",
	ecmpNextHop:     "the next hop of the connection",
	chkLBAffinity:   "the backend of a known client",
	macCacheUse:     "which learned neighbours are in use",
	ctZoneLookup:    "zones of a packet from a tunnel",
	ctOrigNW:        "original IPv4 destination from conntrack",
	ctOrigIP6:       "original IPv6 destination from conntrack",
	ctOrigTP:        "original port from conntrack",
	floodRemote:     "flood to other chassis",
	ctStateSave:     "save the state of the connection",
	ctOrigProto:     "original protocol from conntrack",
	getRemoteFDB:    "look up the VTEP of a MAC",
	learnRemoteFDB:  "MACs learned from VTEPs",
	evpnARPLookup:   "look up a neighbour behind a VTEP",
}

// explain says in a few words what the table is for.
func (t PhysicalTable) explain() string { return physicalWords[t] }

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
	{macBinding, 66, always},
	{macLookup, 67, always},
	{chkLBHairpin, 68, always},
	{chkLBReply, 69, always},
	{ctSNATHairpin, 70, always},
	{getFDB, 71, since(21, 3, 0)},
	{lookupFDB, 72, since(21, 3, 0)},
	{inPortSec, 73, since(22, 6, 0)},
	{inPortSecND, 74, since(22, 6, 0)},
	{outPortSec, 75, since(22, 6, 0)},
	{ecmpNextHopMAC, 76, since(22, 6, 1)},
	{ecmpNextHop, 77, since(22, 6, 1)},
	{chkLBAffinity, 78, since(22, 12, 0)},
	{macCacheUse, 79, since(23, 9, 0)},
	{ctZoneLookup, 80, backported("24.03.6+", 24, 9, 0)},
	{ctOrigNW, 81, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{ctOrigIP6, 82, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{ctOrigTP, 83, backported("24.03.5+ 24.09.2+", 25, 3, 0)},
	{floodRemote, 84, since(25, 3, 0)},
	{ctStateSave, 85, backported("24.03.6+ 24.09.3+", 25, 3, 1)},
	{ctOrigProto, 86, since(25, 9, 0)},
	{getRemoteFDB, 87, since(25, 9, 0)},
	{learnRemoteFDB, 88, since(26, 3, 0)},
	{evpnARPLookup, 113 - nextShift, since(26, 4, 0)},
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
	ingressBase  = 8 // of every release so far
	saveInportAt = 64
	logToPhyAt   = 65
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
		phyToLog:     0,
		remoteOutput: l.remote, localOutput: l.local, checkLoopback: l.loopback,
		saveInport: saveInportAt + shift, logToPhy: logToPhyAt + shift,
	}
	for table, of := range map[PhysicalTable]int{
		outputInit: l.init, detectLargePkt: l.detect, processLargePkt: l.process, remoteVTEP: l.vtep,
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

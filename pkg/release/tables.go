package release

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A PhysicalTable is one of ovn-controller's own OpenFlow tables, which are no stage of a logical pipeline, by its
// name in the sources.
type PhysicalTable string

// The tables of ovn-controller that this package knows; Explain describes them.
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

// PhysicalWords describes each table in a few words.
var PhysicalWords = lazy.Value[map[PhysicalTable]string]{Make: func() map[PhysicalTable]string {
	return map[PhysicalTable]string{
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
		GetFDB:          "look up the port of a learned MAC",
		LookupFDB:       "is the source MAC learned?",
		InPortSec:       "port security of the inport",
		InPortSecND:     "port security of the inport, ARP and ND",
		OutPortSec:      "port security of the outport",
		ECMPNextHopMAC:  "is the next hop's MAC that of the connection?",
		ECMPNextHop:     "the next hop of the connection",
		ChkLBAffinity:   "the backend of a known client",
		MACCacheUse:     "which learned neighbours are in use",
		CtZoneLookup:    "zones of a packet from a tunnel",
		CtOrigNW:        "original IPv4 destination from conntrack",
		CtOrigIP6:       "original IPv6 destination from conntrack",
		CtOrigTP:        "original port from conntrack",
		FloodRemote:     "flood to other chassis",
		CtStateSave:     "save the state of the connection",
		CtOrigProto:     "original protocol from conntrack",
		GetRemoteFDB:    "look up the VTEP of a MAC",
		LearnRemoteFDB:  "MACs learned from VTEPs",
		EVPNARPLookup:   "look up a neighbour behind a VTEP",
	}
}}

// Explain describes the table in a few words.
func (t PhysicalTable) Explain() string { return PhysicalWords.Get()[t] }

// A helper is a table for lookups by logical actions, with its number in every release up to 26.03; later ones add nextShift. The releases
// that have it are those since one, and the named ones of older series.
type helper struct {
	table PhysicalTable
	of    int
	since Version
	spans string
}

func (h *helper) in(v Version) bool {
	return v.in(h.spans) || v.atLeast(h.since)
}

var helpers = []helper{
	{MACBinding, 66, Version{}, ""},
	{MACLookup, 67, Version{}, ""},
	{ChkLBHairpin, 68, Version{}, ""},
	{ChkLBReply, 69, Version{}, ""},
	{CtSNATHairpin, 70, Version{}, ""},
	{GetFDB, 71, Version{21, 3, 0}, ""},
	{LookupFDB, 72, Version{21, 3, 0}, ""},
	{InPortSec, 73, Version{22, 6, 0}, ""},
	{InPortSecND, 74, Version{22, 6, 0}, ""},
	{OutPortSec, 75, Version{22, 6, 0}, ""},
	{ECMPNextHopMAC, 76, Version{22, 6, 1}, ""},
	{ECMPNextHop, 77, Version{22, 6, 1}, ""},
	{ChkLBAffinity, 78, Version{22, 12, 0}, ""},
	{MACCacheUse, 79, Version{23, 9, 0}, ""},
	{CtZoneLookup, 80, Version{24, 9, 0}, "24.03.6+"},
	{CtOrigNW, 81, Version{25, 3, 0}, "24.03.5+ 24.09.2+"},
	{CtOrigIP6, 82, Version{25, 3, 0}, "24.03.5+ 24.09.2+"},
	{CtOrigTP, 83, Version{25, 3, 0}, "24.03.5+ 24.09.2+"},
	{FloodRemote, 84, Version{25, 3, 0}, ""},
	{CtStateSave, 85, Version{25, 3, 1}, "24.03.6+ 24.09.3+"},
	{CtOrigProto, 86, Version{25, 9, 0}, ""},
	{GetRemoteFDB, 87, Version{25, 9, 0}, ""},
	{LearnRemoteFDB, 88, Version{26, 3, 0}, ""},
	{EVPNARPLookup, 113 - nextShift, Version{26, 4, 0}, ""},
}

// A Layout is the numbers of the output tables in a span of releases: what differs between releases. Zero means that
// the table is missing.
type Layout struct {
	Releases string
	detect, process, init,
	remote, vtep, local, loopback int
	Egress int // the table of the first egress stage
	shift  int // how far SAVE_INPORT, LOG_TO_PHY and the helpers were moved
}

// Layouts are the released ones, read from each tag. Development after 26.03 moved everything from SAVE_INPORT on by
// 24; see Next.
var Layouts = []Layout{
	{Releases: "20.12", remote: 32, local: 33, loopback: 34, Egress: 40},
	{Releases: "21.03 21.06 21.09 21.12 22.03 22.06 22.09.0 22.09.1 22.12.0 23.03.0",
		remote: 37, local: 38, loopback: 39, Egress: 40},
	{Releases: "22.09.2+ 22.12.1+ 23.03.1+ 23.06.1+ 23.09 24.03",
		detect: 37, process: 38, remote: 39, local: 40, loopback: 41, Egress: 42},
	{Releases: "23.06.0", init: 37, detect: 38, process: 39, remote: 40, local: 41, loopback: 42, Egress: 43},
	{Releases: "24.09 25.03", detect: 40, process: 41, remote: 42, local: 43, loopback: 44, Egress: 45},
	{Releases: "25.09", detect: 41, process: 42, remote: 43, vtep: 44, local: 45, loopback: 46, Egress: 47},
	{Releases: "26.03", detect: 42, process: 43, remote: 44, vtep: 45, local: 46, loopback: 47, Egress: 48},
}

// newest is a release that has every table of any release.
var newest = Version{26, 3, 99}

// Next is the layout after the last known release, guessed from development.
var Next = Layout{
	Releases: "what follows 26.03", detect: 52, process: 53, remote: 54, vtep: 55, local: 56, loopback: 57, Egress: 62,
	shift: nextShift,
}

// nextShift is how far development after 26.03 moved SAVE_INPORT, LOG_TO_PHY and
// the helpers.
const nextShift = 24

const (
	// IngressBase is the table of the first ingress stage of every release so far.
	IngressBase = 8
	// EgressEnd is the first table after the egress stages, SAVE_INPORT, up to 26.03.
	EgressEnd = saveInport

	saveInport = 64
	logToPhy   = 65
)

// LayoutOf returns the layout of a release, and whether it was read from that release rather than guessed for a newer
// one; nil if unknown.
func LayoutOf(v Version) (l *Layout, known bool) {
	for i := range Layouts {
		if v.in(Layouts[i].Releases) {
			return &Layouts[i], true
		}
	}
	if v.atLeast(Version{26, 4, 0}) {
		return &Next, false
	}
	return nil, false
}

// Span names the first and the last release of a layout.
func (l *Layout) Span() string {
	if l == &Next {
		return l.Releases
	}
	releases := strings.Fields(strings.ReplaceAll(l.Releases, "+", ""))
	if len(releases) == 1 {
		return releases[0]
	}
	return releases[0] + " to " + releases[len(releases)-1]
}

// All returns the tables of the layout with every helper that any of its
// releases has.
func (l *Layout) All() map[PhysicalTable]int {
	if l == &Next {
		return l.Tables(Version{26, 9, 0})
	}
	return l.Tables(newest)
}

// Tables returns the tables of a release of the layout.
func (l *Layout) Tables(v Version) map[PhysicalTable]int {
	tables := map[PhysicalTable]int{
		PhyToLog:     0,
		RemoteOutput: l.remote, LocalOutput: l.local, CheckLoopback: l.loopback,
		SaveInport: saveInport + l.shift, LogToPhy: logToPhy + l.shift,
	}
	for table, of := range map[PhysicalTable]int{
		OutputInit: l.init, DetectLargePkt: l.detect, ProcessLargePkt: l.process, RemoteVTEP: l.vtep,
	} {
		if of != 0 {
			tables[table] = of
		}
	}
	for _, h := range helpers {
		if h.in(v) {
			tables[h.table] = h.of + l.shift
		}
	}
	return tables
}

package southbound

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const (
	manyChassis = 100   // above this the default probe of 5 s is too short
	enoughProbe = 30000 // ms: a sufficient probe
	stormSize   = 6     // lost connections per hour that are too many
)

var ConnectionInactivityProbeTooShort = &doctor.Check{
	Name:     "connection-inactivity-probe-too-short",
	Category: "sb",
	Doc: `Database connections are dropped too early: the inactivity probe is too short

A server or client that is busy for longer than the inactivity probe is taken for
dead. All its clients then reconnect and read everything again, which keeps it busy.`,
	Causes: []string{
		"db-not-listening-tcp", "raft-no-quorum", "db-disk-full-or-corrupt", "controller-not-running",
		"uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "bridge-link-down", "vswitchd-not-running", "tunnel-path-blocked",
	},
	Host: clientDrops,
	Run: func(p *doctor.Pass) {
		southbound := false // reported by its server
		for _, s := range p.Servers() {
			if s.Liveness == snapshot.Answers && serverDrops(p, &s) {
				southbound = southbound || s.Database == "OVN_Southbound"
			}
		}
		for z := range p.EachZone() {
			if !southbound { // nodes do not connect to the Northbound
				shortProbe(p, z)
			}
		}
	},
}

var probeLost = pattern.New(`^((?:tcp|ssl):.*): no response to inactivity probe after ([\d.]+) seconds, disconnecting`)

// lostProbes returns the log lines about connections dropped within the last hour after at least this many seconds of
// silence, and their peers. Shorter silences predate the current setting.
func lostProbes(p *doctor.Pass, lines []snapshot.LogLine, least float64) (lost []snapshot.LogLine, ends []string, seconds string) {
	peers := map[string]bool{}
	lost = doctor.Recent(lines, p.Now().Add(-time.Hour), func(l snapshot.LogLine) bool {
		x := probeLost.Get().FindStringSubmatch(l.Text)
		if x == nil {
			return false
		}
		if silent, err := strconv.ParseFloat(x[2], 64); err != nil || silent < least {
			return false
		}
		peers[doctor.EndpointHost(x[1])] = true
		seconds = x[2]
		return true
	})
	return lost, slices.Sorted(maps.Keys(peers)), seconds
}

// leastProbe returns the shortest current probe of the connections of a server's database, in seconds.
func leastProbe(p *doctor.Pass, s *doctor.Server) float64 {
	least := 0.0
	for z := range p.ZonesOf(s.Host) {
		rows, err := z.Connections(s.Database)
		if err != nil {
			continue
		}
		for _, c := range rows {
			probe := 5.0
			if len(c.Probe) > 0 {
				probe = max(1, float64(c.Probe.Get())/1000) // no probe is shorter than a second
			}
			if least == 0 || probe < least {
				least = probe
			}
		}
	}
	if least == 0 { // its endpoints are on the command line
		least = 5
	}
	return math.Floor(least)
}

// clientProbe returns the inactivity probe of a node's ovn-controller, in seconds.
func clientProbe(h *snapshot.Host) float64 {
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return 0
	}
	ms, err := strconv.Atoi(sw.OpenvSwitch[0].ExternalIDs["ovn-remote-probe-interval"])
	if err != nil {
		return 0
	}
	return math.Floor(float64(ms) / 1000)
}

// serverDrops reports that a server's log shows many dropped connections.
func serverDrops(p *doctor.Pass, s *doctor.Server) bool {
	lines, err := s.Host.LogLines(s.Log)
	if err != nil {
		return false
	}
	lost, ends, seconds := lostProbes(p, lines, leastProbe(p, s))
	// One peer that is lost repeatedly has a fault of its own, or its path has.
	if len(lost) < stormSize || len(ends) < 2 {
		return false
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: s.Object(),
		Also:   s.Also(),
		Reason: "server-drops",
		Title:  fmt.Sprintf("%s dropped %d connections of %d clients within the last hour, each after %s s of silence", s.Database, len(lost), len(ends), seconds),
		Cause:  "clients or the server are busy for longer than the inactivity probe",
		Effect: "each client reconnects and reads everything again, which loads the server further; nodes lag behind",
	}
	for _, l := range lost[len(lost)-2:] {
		f.Evidence = append(f.Evidence, doctor.Log(s.Log).On(s.Host.Name).Says(l.Raw))
	}
	for z := range p.ZonesOf(s.Host) {
		addProbes(p, &f, z, s.Database)
	}
	p.Report(f)
	return true
}

// addProbes adds the probes of the database's connections, and the repair if it helps.
func addProbes(p *doctor.Pass, f *doctor.Finding, z *snapshot.Zone, database string) {
	rows, err := z.Connections(database)
	if err != nil {
		return
	}
	for _, c := range rows {
		f.Evidence = append(f.Evidence, connection(database, c).Says("target="+c.Target+" "+probeText(c)))
	}
	switch {
	case slices.ContainsFunc(rows, isShort) && !p.Own(z):
		f.Next = "on a node of zone " + z.Name + ": ovnctl fix " + catalog.SetInactivityProbe.Name + " " + database
	case slices.ContainsFunc(rows, isShort):
		f.Fix = catalog.SetInactivityProbe.With(database)
	case len(rows) == 0:
		f.Next = "its endpoints are on the server's command line, where the probe is 5 s: add Connection rows instead, with inactivity_probe=60000"
	default:
		f.Next = "the probe is long enough: find what keeps the clients or the server busy (Unreasonably long … in their logs)"
	}
}

// connection returns a row of a database's Connection table.
func connection(database string, c snapshot.Connection) doctor.Source {
	if database == "OVN_Northbound" {
		return doctor.NB("Connection", doctor.Short(c.UUID))
	}
	return doctor.SB("Connection", doctor.Short(c.UUID))
}

func probeText(c snapshot.Connection) string {
	if len(c.Probe) == 0 {
		return "inactivity_probe=[] (5000 ms)"
	}
	return fmt.Sprintf("inactivity_probe=%d", c.Probe.Get())
}

func isShort(c snapshot.Connection) bool {
	passive := strings.HasPrefix(c.Target, "ptcp:") || strings.HasPrefix(c.Target, "pssl:")
	return passive && (len(c.Probe) == 0 || c.Probe.Get() > 0 && c.Probe.Get() < enoughProbe)
}

// shortProbe reports a Southbound probe too short for the number of chassis.
func shortProbe(p *doctor.Pass, z *snapshot.Zone) {
	rows, err := z.Southbound()
	if err != nil {
		return // other checks report an unreachable database
	}
	chassis := 0
	for _, c := range rows.Chassis {
		if c.OtherConfig["is-remote"] != "true" {
			chassis++
		}
	}
	if chassis <= manyChassis {
		return
	}
	connections, err := z.Connections("OVN_Southbound")
	if err != nil || !slices.ContainsFunc(connections, isShort) {
		return
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.SouthboundObject,
		Reason: "many-chassis",
		Title:  fmt.Sprintf("the inactivity probe of OVN_Southbound is too short for its %d chassis", chassis),
		Cause:  "Connection.inactivity_probe is not set, or short",
		Effect: "when the server or the nodes are busy, all reconnect at once",
	}
	addProbes(p, &f, z, "OVN_Southbound")
	p.Report(f)
}

// clientDrops reports that an ovn-controller's log shows many dropped connections.
func clientDrops(p *doctor.Pass, h *snapshot.Host) {
	if !doctor.Replies(h, "ovn-controller") {
		return
	}
	lines, err := h.LogLines("ovn-controller")
	if err != nil {
		return
	}
	lost, ends, seconds := lostProbes(p, lines, clientProbe(h))
	if len(lost) < stormSize {
		return
	}
	p.Report(doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.DaemonObject(h, "ovn-controller"),
		Also:   []doctor.Object{doctor.NodeObject(h.Name), doctor.SouthboundObject},
		Reason: "client-drops",
		Title: fmt.Sprintf("ovn-controller on %s dropped its connection to OVN_Southbound (%s) %d times within the last hour, each after %s s of silence",
			h.Name, strings.Join(ends, ", "), len(lost), seconds),
		Evidence: []doctor.Evidence{doctor.Log("ovn-controller").On(h.Name).Says(lost[len(lost)-1].Raw)},
		Cause:    "the server is busy for longer than the node waits, or the network to it loses packets",
		Effect:   "the node reads everything again each time and lags behind",
		Next:     "ovs-vsctl set Open_vSwitch . external_ids:ovn-remote-probe-interval=60000",
	})
}

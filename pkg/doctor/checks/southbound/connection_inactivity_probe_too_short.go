package southbound

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const (
	// manyChassis is from when on the default of 5 s is known to be too short.
	manyChassis = 100
	// enoughProbe is a wait that is long enough for what is known of.
	enoughProbe = 30000
	// stormSize is how many lost connections in an hour are a storm.
	stormSize = 6
)

var ConnectionInactivityProbeTooShort = &doctor.Check{
	Name:     "connection-inactivity-probe-too-short",
	Category: "sb",
	Doc: `Connections to a database are given up too soon

A server or client that is busy for longer than the inactivity probe is taken for
dead. All its clients then connect and read everything anew, which keeps it busy.`,
	Causes: []string{
		"db-not-listening-tcp", "raft-no-quorum", "db-disk-full-or-corrupt", "controller-not-running",
		"uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "bridge-link-down", "vswitchd-not-running",
	},
	Run: func(p *doctor.Pass) {
		told := map[string]bool{}
		for _, s := range p.Servers() {
			if s.Liveness == snapshot.Answers {
				told[s.Database] = probeStorm(p, &s) || told[s.Database]
			}
		}
		for _, z := range p.Zones {
			for _, name := range []string{"OVN_Northbound", "OVN_Southbound"} {
				if !told[name] {
					shortProbe(p, z, name)
				}
			}
		}
		for _, h := range p.Hosts {
			clientStorm(p, h)
		}
	},
}

var probeLost = regexp.MustCompile(`^((?:tcp|ssl):.*): no response to inactivity probe after ([\d.]+) seconds, disconnecting`)

// lostProbes are the connections that were given up within the last hour after a
// silence of at least so many seconds, and of how many other ends. What was given up
// sooner was under an earlier setting.
func lostProbes(p *doctor.Pass, lines []snapshot.LogLine, least float64) (lost []snapshot.LogLine, ends []string, seconds string) {
	peers := map[string]bool{}
	lost = doctor.Recent(lines, p.Now().Add(-time.Hour), func(l snapshot.LogLine) bool {
		x := probeLost.FindStringSubmatch(l.Text)
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

// leastProbe is the shortest probe of a database's connections now, in seconds.
func leastProbe(p *doctor.Pass, database string) float64 {
	least := 0.0
	for _, z := range p.Zones {
		rows, err := z.Connections(database)
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
	if least == 0 { // the addresses are on the command line
		least = 5
	}
	return math.Floor(least)
}

// clientProbe is how long a node's ovn-controller waits for a silent server, in seconds.
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

// probeStorm looks for a storm in a server's log.
func probeStorm(p *doctor.Pass, s *doctor.Server) bool {
	lines, err := s.Host.LogLines(s.Log)
	if err != nil {
		return false
	}
	lost, ends, seconds := lostProbes(p, lines, leastProbe(p, s.Database))
	// One end that is lost again and again is that end's trouble, or the way's to it.
	if len(lost) < stormSize || len(ends) < 2 {
		return false
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: s.Object(),
		Also:   s.Concerns(),
		Title:  fmt.Sprintf("%s gave up %d connections of %d clients within the last hour, silent for %s s each", s.Database, len(lost), len(ends), seconds),
		Cause:  "clients or the server are busy for longer than the inactivity probe",
		Effect: "each connects and reads all anew, which makes the server busier still; nodes lag behind",
	}
	for _, l := range lost[len(lost)-2:] {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log(s.Log).On(s.Host.Name), Says: l.Raw})
	}
	for _, z := range p.Zones {
		addProbes(&f, z, s.Database)
	}
	p.Report(f)
	return true
}

// addProbes adds what the database's connections say, and the repair where it helps.
func addProbes(f *doctor.Finding, z *snapshot.Zone, database string) {
	rows, err := z.Connections(database)
	if err != nil {
		return
	}
	short := false
	for _, c := range rows {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(fmt.Sprintf("%s Connection %s", database, c.Target)), Says: probeText(c)})
		short = short || isShort(c)
	}
	switch {
	case short:
		f.Fix = catalog.SetInactivityProbe.With(database)
	case len(rows) == 0:
		f.Next = "its addresses are on the server's command line, where the probe is 5 s: make Connection rows instead, with inactivity_probe=60000"
	default:
		f.Next = "the probe is long enough: look what keeps the clients or the server busy (Unreasonably long … in their logs)"
	}
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

// shortProbe is a probe that is known to be too short for so many nodes.
func shortProbe(p *doctor.Pass, z *snapshot.Zone, database string) {
	if database == "OVN_Northbound" {
		return // nodes do not read it
	}
	rows, err := z.Southbound()
	if err != nil {
		return // a database that cannot be read is told of elsewhere
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
	connections, err := z.Connections(database)
	if err != nil || len(connections) > 0 && !slices.ContainsFunc(connections, isShort) || len(connections) == 0 {
		return
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.Object{Kind: "database", Name: database},
		Title:  fmt.Sprintf("%s waits no longer than 5 s for a silent client, and has %d chassis", database, chassis),
		Cause:  "Connection.inactivity_probe is not set, or short",
		Effect: "when the server or the nodes are busy, all connect anew at once",
	}
	addProbes(&f, z, database)
	p.Report(f)
}

// clientStorm looks for a storm in an ovn-controller's log.
func clientStorm(p *doctor.Pass, h *snapshot.Host) {
	d, err := h.Daemon("ovn-controller")
	if err != nil || d.Liveness != snapshot.Answers {
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
		Object: doctor.Object{Kind: "daemon", Name: "ovn-controller", Node: h.Name},
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}, {Kind: "database", Name: "OVN_Southbound"}},
		Title:  fmt.Sprintf("ovn-controller on %s gave up its connection to OVN_Southbound %d times within the last hour, silent for %s s each", h.Name, len(lost), seconds),
		Evidence: []doctor.Evidence{
			{Source: doctor.Log("ovn-controller"), Says: lost[len(lost)-1].Raw},
			{Source: doctor.Other("servers"), Says: strings.Join(ends, ", ")},
		},
		Cause:  "the server is busy for longer than the node waits, or the network to it loses packets",
		Effect: "the node reads everything anew each time and lags behind",
		Next:   "ovs-vsctl set Open_vSwitch . external_ids:ovn-remote-probe-interval=60000",
	})
}

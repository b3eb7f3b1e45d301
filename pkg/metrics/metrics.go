package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/vitals"
)

// Most series of a metric. What has one series per node, chassis or database is bounded by the deployment.
const (
	mostFindings = 2000
	mostZones    = 100 // of a node: those that are fullest
	mostTunnels  = 500
	mostPorts    = 100
	mostLabel    = 253 // bytes of a value, the longest hostname
)

// A series collects the metrics of a look.
type series struct {
	all  []prometheus.Metric
	has  map[string]bool // metric and labels
	left map[string]int  // out, by metric
}

func newSeries() *series { return &series{has: map[string]bool{}, left: map[string]int{}} }

// A family is a metric with the names of its labels.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	name string
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("ovnctl_"+name, help, labels, nil), prometheus.GaugeValue, "ovnctl_" + name}
}

func counter(name, help string, labels ...string) family {
	f := gauge(name, help, labels...)
	f.kind = prometheus.CounterValue
	return f
}

var (
	findings        = gauge("findings", "Faults that have not cleared, those that others explain included.", "check", "severity", "node")
	checks          = gauge("checks", "Checks of the last look by their result.", "result")
	lastClean       = gauge("last_clean_timestamp_seconds", "When a look last found nothing of this severity or worse; the first look, if none was so.", "severity")
	lastLook        = gauge("last_look_timestamp_seconds", "When the last look began: the age of all that is shown here.")
	lookTook        = gauge("last_look_duration_seconds", "How long the last look took.")
	looks           = counter("looks_total", "Looks at the deployment.")
	lookFailures    = counter("look_failures_total", "Looks that ended with an error.")
	nodeRead        = gauge("node_last_read_timestamp_seconds", "When a node was last read; 0: not since ovnctl was started.", "node")
	databaseRead    = gauge("database_last_read_timestamp_seconds", "When a database was last read; 0: not since ovnctl was started.", "zone", "database")
	northdBehind    = gauge("northd_behind", "By how much sb_cfg is behind nb_cfg: what ovn-northd has to carry out.", "zone")
	chassisBehind   = gauge("chassis_behind", "By how much nb_cfg of a chassis is behind that of the Southbound.", "zone", "node")
	flapping        = gauge("flapping_ports", "Ports that move from chassis to chassis again and again.")
	portFlapping    = gauge("port_flapping", "1 for each of these ports.", "zone", "port")
	raftTerm        = gauge("raft_term", "Term of a member of a clustered database.", "database", "node")
	raftRole        = gauge("raft_role", "1 for the role that a member has.", "database", "node", "role")
	raftLag         = gauge("raft_log_lag_entries", "Entries by which the log of a member is behind the longest one.", "database", "node")
	raftMembers     = gauge("raft_members", "Members of the cluster, as a member knows it.", "database", "node")
	raftConnected   = gauge("raft_members_connected", "Members that a member has a connection with, itself included.", "database", "node")
	datapathHits    = counter("datapath_hits_total", "Packets that matched a flow of an OVS datapath.", "node", "datapath")
	datapathUpcalls = counter("datapath_upcalls_total", "Packets that matched none, and went to ovs-vswitchd.", "node", "datapath")
	datapathLost    = counter("datapath_lost_total", "Packets dropped on the way to ovs-vswitchd.", "node", "datapath")
	datapathFlows   = gauge("datapath_flows", "Flows in an OVS datapath.", "node", "datapath")
	datapathLimit   = gauge("datapath_flow_limit", "Flows that ovs-vswitchd allows there at this time.", "node", "datapath")
	conntrackNow    = gauge("conntrack_entries", "Connections in a conntrack table.", "node", "datapath")
	conntrackMax    = gauge("conntrack_limit", "Most connections that the table takes.", "node", "datapath")
	zoneNow         = gauge("conntrack_zone_entries", "Connections in a ct zone that has a limit.", "node", "datapath", "zone")
	zoneMax         = gauge("conntrack_zone_limit", "Most connections that the ct zone takes.", "node", "datapath", "zone")
	tunnels         = gauge("tunnels", "Tunnels from a node by what became of packets sent through them (--send).", "node", "result")
	tunnelLost      = gauge("tunnel_lost", "1 for each tunnel that loses packets of this size (--send).", "from", "to", "size")
	leftOut         = gauge("series_left_out", "Series that a metric does not show, as it has too many.", "metric")
)

// add adds a value. Values of labels are names of others: of two objects that have the same ones, such as chassis with one
// hostname, the first is shown.
func (s *series) add(f family, value float64, labels ...string) {
	for i, l := range labels {
		labels[i] = label(l)
	}
	key := f.name + "\xff" + strings.Join(labels, "\xff")
	if s.has[key] {
		s.left[f.name]++
		return
	}
	s.has[key] = true
	s.all = append(s.all, prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...))
}

// label makes a name fit for a label: it is shown by programs that do not expect the worst.
func label(name string) string {
	name = escape.Line(name)
	if len(name) > mostLabel {
		name = strings.ToValidUTF8(name[:mostLabel], "")
	}
	return name
}

// most returns the first n, and counts the rest as left out.
func most[T any](s *series, of family, n int, all []T) []T {
	if len(all) > n {
		s.left[of.name] += len(all) - n
		all = all[:n]
	}
	return all
}

// metrics returns what the last look saw.
func (s *Store) metrics() []prometheus.Metric {
	m := newSeries()
	m.report(&s.last)
	m.vitals(&s.last.Vitals)
	if s.last.Mesh != nil {
		m.mesh(s.last.Mesh)
	}
	for _, severity := range slices.Sorted(maps.Keys(s.clean)) {
		m.add(lastClean, seconds(s.clean[severity]), string(severity))
	}
	for _, n := range slices.Sorted(maps.Keys(s.read)) {
		m.add(nodeRead, seconds(s.read[n]), n)
	}
	for d, last := range s.rows {
		m.add(databaseRead, seconds(last), d.Zone, d.Name)
	}
	m.add(lastLook, seconds(s.last.Began))
	m.add(lookTook, s.last.Took.Seconds())
	for name, n := range maps.Clone(m.left) {
		m.add(leftOut, float64(n), name)
	}
	return m.all
}

// running returns what changes between two looks.
func (s *Store) running() []prometheus.Metric {
	m := newSeries()
	m.add(looks, float64(s.looks))
	m.add(lookFailures, float64(s.failures))
	m.add(flapping, float64(len(s.restless)))
	ports := slices.SortedFunc(maps.Keys(s.restless), func(a, b portName) int {
		return cmp.Or(strings.Compare(a.zone, b.zone), strings.Compare(a.port, b.port))
	})
	for _, p := range most(m, portFlapping, mostPorts, ports) { // flapping_ports has their number
		m.add(portFlapping, 1, p.zone, p.port)
	}
	return m.all
}

// seconds returns a time as Prometheus has it; 0 if it is none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func (s *series) report(l *Look) {
	type key struct{ check, severity, node string }
	count := map[key]int{}
	for _, f := range l.Faults {
		k := key{f.Check, string(f.Result), ""}
		if nodes := f.Nodes(); len(nodes) > 0 {
			k.node = label(nodes[0]) // that of its object
		}
		count[k]++
	}
	keys := slices.SortedFunc(maps.Keys(count), func(a, b key) int {
		return cmp.Or(strings.Compare(a.severity, b.severity), strings.Compare(a.check, b.check), strings.Compare(a.node, b.node)) // errors first
	})
	for _, k := range most(s, findings, mostFindings, keys) {
		s.add(findings, float64(count[k]), k.check, k.severity, k.node)
	}
	results := map[string]map[string]bool{"faulty": {}, string(doctor.Unknown): {}, string(doctor.Skipped): {}}
	for _, f := range l.Report.Findings {
		if !f.Result.Fault() {
			results[string(f.Result)][f.Check] = true
		}
	}
	for _, f := range l.Report.Faults() {
		results["faulty"][f.Check] = true
	}
	for result, names := range results {
		s.add(checks, float64(len(names)), result)
	}
	s.add(checks, float64(len(l.Report.Passed)), "passed")
}

func (s *series) vitals(v *vitals.Vitals) {
	for _, p := range v.Progress {
		s.add(northdBehind, float64(p.Northd), p.Zone)
		for _, c := range p.Chassis {
			s.add(chassisBehind, float64(c.Behind), p.Zone, c.Node)
		}
	}
	for _, m := range v.Members {
		s.add(raftTerm, float64(m.Term), m.Database, m.Node)
		s.add(raftLag, float64(m.Lag), m.Database, m.Node)
		s.add(raftMembers, float64(m.Known), m.Database, m.Node)
		s.add(raftConnected, float64(m.Connected), m.Database, m.Node)
		for _, role := range []string{"leader", "follower", "candidate"} {
			is := 0.0
			if m.Role == role {
				is = 1
			}
			s.add(raftRole, is, m.Database, m.Node, role)
		}
	}
	for _, d := range v.Datapaths {
		s.add(datapathHits, float64(d.Hit), d.Node, d.Name)
		s.add(datapathUpcalls, float64(d.Missed), d.Node, d.Name)
		s.add(datapathLost, float64(d.Lost), d.Node, d.Name)
		s.add(datapathFlows, float64(d.Flows), d.Node, d.Name)
		if d.Limit > 0 {
			s.add(datapathLimit, float64(d.Limit), d.Node, d.Name)
		}
	}
	zones := map[string][]vitals.Conntrack{}
	for _, c := range v.Conntrack {
		if c.Zone != "" {
			zones[c.Node] = append(zones[c.Node], c)
			continue
		}
		s.add(conntrackNow, float64(c.Now), c.Node, c.Datapath)
		s.add(conntrackMax, float64(c.Max), c.Node, c.Datapath)
	}
	for _, node := range slices.Sorted(maps.Keys(zones)) {
		fullest := slices.SortedStableFunc(slices.Values(zones[node]), func(a, b vitals.Conntrack) int {
			return cmp.Compare(float64(b.Now)/float64(b.Max), float64(a.Now)/float64(a.Max))
		})
		for _, c := range most(s, zoneNow, mostZones, fullest) {
			s.add(zoneNow, float64(c.Now), c.Node, c.Datapath, c.Zone)
			s.add(zoneMax, float64(c.Max), c.Node, c.Datapath, c.Zone)
		}
	}
}

// mesh shows each node's tunnels by their number, as there are as many as pairs of nodes, and by name those that lose packets.
func (s *series) mesh(m *probe.Mesh) {
	const received, lost, unknown = "received", "lost", "unknown"
	type key struct{ node, result string }
	count := map[key]int{}
	type loss struct{ from, to, size string }
	losses := map[loss]bool{} // a node may have several tunnels to another
	for _, n := range m.Nodes {
		for _, result := range []string{received, lost, unknown} {
			count[key{n, result}] = 0
		}
	}
	for _, t := range m.Tunnels {
		switch {
		case t.Broken():
			count[key{t.From, lost}]++
		case t.Small.Result == probe.Received && (t.Full.Result == probe.Received || t.Full.Size == 0):
			count[key{t.From, received}]++
		default:
			count[key{t.From, unknown}]++
		}
		if t.Small.Result.Lost() {
			losses[loss{t.From, t.To, "small"}] = true
		}
		if t.Full.Result.Lost() {
			losses[loss{t.From, t.To, "full"}] = true
		}
	}
	for k, n := range count {
		s.add(tunnels, float64(n), k.node, k.result)
	}
	sorted := slices.SortedFunc(maps.Keys(losses), func(a, b loss) int {
		return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to), strings.Compare(a.size, b.size))
	})
	for _, l := range most(s, tunnelLost, mostTunnels, sorted) {
		s.add(tunnelLost, 1, l.from, l.to, l.size)
	}
}

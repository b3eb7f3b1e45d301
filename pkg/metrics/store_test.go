package metrics

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/vitals"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

// get returns the status and the text of a page.
func get(t *testing.T, s *Store, path string) (int, string) {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	reply, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func fault(check string, result doctor.Result, node string, consequences ...doctor.Finding) doctor.Finding {
	return doctor.Finding{Check: check, Result: result, Object: doctor.Object{Kind: "node", Name: node}, Consequences: consequences}
}

// TestLooks follows findings through three looks: found, the same with a consequence gone, clean.
func TestLooks(t *testing.T) {
	s := New("1.2.3", time.Hour)
	if code, text := get(t, s, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "first look") {
		t.Errorf("/readyz before the first look: %d %s", code, text)
	}
	if code, _ := get(t, s, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d", code)
	}
	began := time.Now().Add(-time.Minute).Truncate(time.Second)
	look := func(at time.Time, found ...doctor.Finding) string {
		report := doctor.Report{Findings: found, Passed: []string{"a", "b"}}
		s.Saw(Look{Began: at, Took: time.Second, Report: report, Faults: report.Faults(), Vitals: vitals.Vitals{Nodes: []string{"node1"}}, Unread: []string{"node2"}, Missing: []vitals.Database{{Name: "OVN_Southbound"}}})
		_, text := get(t, s, "/metrics")
		return text
	}
	text := look(began, fault("mtu", doctor.Error, "node1", fault("slow", doctor.Warning, "node2")), fault("mtu", doctor.Error, "node1"), doctor.Finding{Check: "tls", Result: doctor.Unknown})
	expect(t, text,
		`ovnctl_findings{check="mtu",node="node1",severity="error"} 2`, `ovnctl_findings{check="slow",node="node2",severity="warning"} 1`,
		`ovnctl_checks{result="faulty"} 2`, `ovnctl_checks{result="unknown"} 1`, `ovnctl_checks{result="passed"} 2`,
		`ovnctl_node_last_read_timestamp_seconds{node="node2"} 0`, `ovnctl_database_last_read_timestamp_seconds{database="OVN_Southbound",zone=""} 0`, `ovnctl_build_info{version="1.2.3"} 1`)
	text = look(began.Add(10*time.Second), fault("slow", doctor.Warning, "node2"))
	stamp := func(at time.Time) string { return fmt.Sprint(float64(at.Unix())) }
	expect(t, text, `ovnctl_last_clean_timestamp_seconds{severity="error"} `+stamp(began.Add(10*time.Second)), `ovnctl_last_clean_timestamp_seconds{severity="warning"} `+stamp(began))
	if strings.Contains(text, `check="mtu"`) {
		t.Errorf("a cleared finding is still there:\n%s", text)
	}
	text = look(began.Add(20 * time.Second))
	expect(t, text, `ovnctl_last_clean_timestamp_seconds{severity="warning"} `+stamp(began.Add(20*time.Second)), `ovnctl_looks_total 3`)
	if code, _ := get(t, s, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz after a look: %d", code)
	}
	s.Failed()
	_, text = get(t, s, "/metrics")
	expect(t, text, `ovnctl_look_failures_total 1`, `ovnctl_looks_total 3`)
	s.patience = time.Second
	if code, text := get(t, s, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "ago") {
		t.Errorf("/readyz long after a look: %d %s", code, text)
	}
	if problems, err := testutil.GatherAndLint(s.registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

// TestLastRead forgets what is not in the deployment any more.
func TestLastRead(t *testing.T) {
	then, now := time.Unix(1, 0), time.Unix(2, 0)
	got := lastRead(map[string]time.Time{"read": then, "missing": then, "gone": then}, now, []string{"read"}, []string{"missing", "new"})
	want := map[string]time.Time{"read": now, "missing": then, "new": {}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestEvents counts ports that flap, and how long changes took.
func TestEvents(t *testing.T) {
	s := New("", time.Hour)
	port := func(action, name string) { s.Event(watch.Event{Kind: watch.Port, Action: action, Object: name}) }
	port("flapping", "pod shop/a")
	port("flapping", "pod shop/b")
	port("flapping", "pod shop/c")
	port("settled", "pod shop/b")
	port("removed", "pod shop/c")
	port("moved", "pod shop/d")
	s.Event(watch.Event{Kind: watch.Progress, Action: "converged", Convergence: &watch.Convergence{Northd: 30 * time.Millisecond, Chassis: []time.Duration{time.Second, 3 * time.Second}, All: 4 * time.Second}})
	_, text := get(t, s, "/metrics")
	expect(t, text, `ovnctl_flapping_ports 1`, `ovnctl_port_flapping{port="pod shop/a",zone=""} 1`,
		`ovnctl_convergence_seconds_bucket{stage="northd",le="0.05"} 1`, `ovnctl_convergence_seconds_sum{stage="chassis"} 4`, `ovnctl_convergence_seconds_count{stage="chassis"} 2`, `ovnctl_convergence_seconds_sum{stage="all"} 4`)
}

// TestBounds has a deployment in which every tunnel and every node is broken, with names nobody should have.
func TestBounds(t *testing.T) {
	const nodes, checksEach = 300, 10
	var report doctor.Report
	mesh := &probe.Mesh{}
	v := vitals.Vitals{Progress: []vitals.Progress{{Chassis: []vitals.ChassisProgress{{Node: "same", Behind: 1}, {Node: "same"}}}}}
	name := func(i int) string { return fmt.Sprintf("%d\x1b[31m\xff\"\n", i) }
	for i := range nodes {
		for c := range checksEach {
			report.Findings = append(report.Findings, fault(fmt.Sprint("check", c), doctor.Error, name(i)))
		}
		mesh.Nodes = append(mesh.Nodes, name(i))
		for j := range nodes {
			mesh.Tunnels = append(mesh.Tunnels, probe.MeshTunnel{From: name(i), To: name(j), Small: probe.Crossing{Result: probe.LostOn}, Full: probe.Crossing{Result: probe.LostOn}})
		}
		for range 10 {
			v.Conntrack = append(v.Conntrack, vitals.Conntrack{Node: "node1", Datapath: "system@ovs-system", Zone: fmt.Sprint(len(v.Conntrack)), Now: len(v.Conntrack), Max: 3000})
		}
	}
	v.Datapaths = []vitals.Datapath{{Node: strings.Repeat("n", 10000), Datapath: node.Datapath{Name: "netdev@ovs-netdev", Hit: 7}}}
	s := New("", time.Hour)
	s.Saw(Look{Began: time.Now(), Report: report, Faults: report.Faults(), Mesh: mesh, Vitals: v})
	for i := range 10 * mostPorts {
		s.Event(watch.Event{Kind: watch.Port, Action: "flapping", Object: name(i)})
	}
	code, text := get(t, s, "/metrics")
	if code != http.StatusOK || len(text) > 4<<20 || strings.Contains(text, "\x1b") || !utf8.ValidString(text) {
		t.Errorf("status %d, %d bytes", code, len(text))
	}
	for prefix, most := range map[string]int{"ovnctl_findings{": mostFindings, "ovnctl_tunnel_lost{": mostTunnels, "ovnctl_tunnels{": 3 * nodes, "ovnctl_conntrack_zone_entries{": mostZones, "ovnctl_port_flapping{": mostPorts} {
		if n := strings.Count(text, "\n"+prefix); n != most {
			t.Errorf("%d series of %s, want %d", n, prefix, most)
		}
	}
	expect(t, text, `ovnctl_chassis_behind{node="same",zone=""} 1`, `ovnctl_conntrack_zone_entries{datapath="system@ovs-system",node="node1",zone="2999"} 2999`,
		`ovnctl_series_left_out{metric="ovnctl_chassis_behind"} 1`, fmt.Sprintf(`ovnctl_series_left_out{metric="ovnctl_findings"} %d`, checksEach*nodes-mostFindings),
		fmt.Sprintf(`ovnctl_datapath_hits_total{datapath="netdev@ovs-netdev",node="%s"} 7`, strings.Repeat("n", mostLabel)))
}

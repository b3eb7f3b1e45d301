//go:build lab && metrics

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// A monitored is a lab with exporters on node1, for all nodes, and on central, for its member of the clusters, and a Prometheus
// on node1 with the alerts of the packages.
type monitored struct {
	*testing.T
	lab     *lab.Lab
	cut     string // file: node3 does not reply while it is there
	central *exec.Cmd
}

// start starts a program on a host until the test ends, and shows what it printed if the test failed.
func (m *monitored) start(host string, args ...string) *exec.Cmd {
	m.Helper()
	cmd := m.lab.Program(context.WithoutCancel(m.Context()), host, args...)
	cmd.Env = append(cmd.Env, asOvnctl+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			m.Errorf("%s: %v", args[0], err)
		}
		if m.Failed() {
			m.Logf("%s on %s:\n%s", filepath.Base(args[0]), host, out.String())
		}
	})
	return cmd
}

func (m *monitored) sh(host, script string) string {
	m.Helper()
	out, err := m.lab.Run(m.Context(), host, "sh", "-ec", script)
	if err != nil {
		m.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// query asks Prometheus. It returns the labels of each series with its value.
func (m *monitored) query(expr string) ([]map[string]string, error) {
	out, err := m.lab.Program(m.Context(), "node1", "promtool", "query", "instant", "-o", "json", "http://127.0.0.1:19090", expr).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", expr, err, out)
	}
	var series []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(out, &series); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", expr, err, out)
	}
	var all []map[string]string
	for _, s := range series {
		if s.Metric == nil {
			s.Metric = map[string]string{}
		}
		s.Metric["value"] = fmt.Sprint(s.Value[1])
		all = append(all, s.Metric)
	}
	return all, nil
}

// firing returns how many alerts that match fire.
func (m *monitored) firing(alert string) int {
	m.Helper()
	found, err := m.query(`ALERTS{alertstate="firing",` + alert + `}`)
	if err != nil {
		m.Fatal(err)
	}
	return len(found)
}

// await waits until an alert fires, or does not any more, and returns how long that took since a time.
func (m *monitored) await(alert string, fires bool, since time.Time, most time.Duration) time.Duration {
	m.Helper()
	for {
		if m.firing(alert) > 0 == fires {
			return time.Since(since)
		}
		if time.Since(since) > most {
			all, _ := m.query(`ALERTS`)
			m.Errorf("{%s}: fires is %v after %v, want %v; there are %v", alert, !fires, most, fires, all)
			return time.Since(since)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

const prometheusConfig = `global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}
rule_files: [%s]
scrape_configs:
- job_name: ovnctl
  static_configs: [{targets: ["127.0.0.1:9476", "172.30.0.2:9476"]}]
`

func startMonitored(t *testing.T) *monitored {
	m := &monitored{T: t, lab: labtest.Own(t, lab.OVNKubernetes(), lab.Options{Cluster: 3})}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../packaging/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m.cut = filepath.Join(dir, "cut")
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	way := write("way", fmt.Sprintf("#!/bin/sh\n[ $1 != node3 ] || [ ! -e %s ] || { echo 'No route to host' >&2; exit 255; }\nexec %s/enter \"$@\"\n", m.cut, m.lab.Dir), 0o755)
	m.start("node1", append([]string{self, "doctor", "--serve", "--watch", "10", "--send", "--all-nodes", "--node-exec", way + " {hostname}"}, m.lab.Flags()...)...)
	m.central = m.start("central", append([]string{self, "doctor", "--serve", ":9476", "--watch", "10"}, m.lab.Flags()...)...)
	config := write("prometheus.yml", fmt.Sprintf(prometheusConfig, rules), 0o644)
	m.start("node1", "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:19090", "--log.level=warn")
	for began := time.Now(); ; time.Sleep(time.Second) {
		found, err := m.query(`ovnctl_looks_total > 0`)
		if err == nil && len(found) == 2 {
			return m
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("no look of both exporters: %v %v", found, err)
		}
	}
}

// A monitoredFault is made on the lab, and fires an alert.
type monitoredFault struct {
	name, alert string
	breaks      func(*monitored)
	mends       func(*monitored)
	rests       time.Duration // how long the alert stays after the fault is mended, beside looks
}

func onHost(host, script string) func(*monitored) {
	return func(m *monitored) { m.Helper(); m.sh(host, script) }
}

const (
	signalController = `kill -%s $(cat $OVN_RUNDIR/ovn-controller.pid)`
)

// monitoredFaults are in groups: those of one have nothing to do with each other, and are there at the same time.
var monitoredFaults = [][]monitoredFault{{
	{name: "MTU of the way to node2", alert: `alertname="OVNTunnelLosesPackets",to="node2",size="full"`,
		breaks: onHost("node2", "ip link set eth0 mtu 1400"), mends: onHost("node2", "ip link set eth0 mtu 1500")},
	{name: "ovn-northd paused", alert: `alertname="OVNNorthdBehind"`,
		breaks: func(m *monitored) {
			for _, c := range m.lab.Centrals() {
				m.sh(c, "ovn-appctl -t ovn-northd pause")
			}
			m.configure("set NB_Global . nb_cfg=1000")
		},
		mends: func(m *monitored) {
			for _, c := range m.lab.Centrals() {
				m.sh(c, "ovn-appctl -t ovn-northd resume")
			}
		}},
	{name: "limit of a ct zone", alert: `alertname="OVSConntrackZoneNearlyFull",node="node1"`,
		breaks: func(m *monitored) { m.fillZone() },
		mends:  onHost("node1", "ovs-appctl dpctl/ct-get-limits | sed -n 's/^zone=\\([0-9]*\\),.*/\\1/p' | while read z; do ovs-appctl dpctl/ct-del-limits zone=$z; done; ovs-appctl dpctl/flush-conntrack")},
}, {
	{name: "flow on the bridge of node3", alert: `alertname="OVNTunnelLosesPackets",to="node3",size="small"`,
		breaks: onHost("node3", "ovs-ofctl add-flow br-ex priority=60000,udp,tp_dst=6081,in_port=eth0,actions=drop"), mends: onHost("node3", "ovs-ofctl --strict del-flows br-ex priority=60000,udp,tp_dst=6081,in_port=eth0")},
	{name: "ovn-controller hangs", alert: `alertname="OVNChassisBehind",node="node2"`,
		breaks: func(m *monitored) {
			m.sh("node2", fmt.Sprintf(signalController, "STOP"))
			m.configure("set NB_Global . nb_cfg=2000")
		},
		mends: onHost("node2", fmt.Sprintf(signalController, "CONT"))},
	{name: "two nodes claim a port", alert: `alertname="OVNPortFlapping",port="port restless"`, rests: 70 * time.Second,
		breaks: func(m *monitored) {
			m.configure("ls-add restless -- lsp-add restless restless")
			for _, node := range []string{"node1", "node3"} {
				m.sh(node, "ovs-vsctl add-port br-int restless -- set Interface restless type=internal external_ids:iface-id=restless")
			}
		},
		mends: onHost("node3", "ovs-vsctl del-port restless")},
}, {
	{name: "port disabled", alert: `alertname="OVNFault",check="port-administratively-disabled"`,
		breaks: func(m *monitored) { m.configure("lsp-set-enabled shop_web-1 disabled") }, mends: func(m *monitored) { m.configure("lsp-set-enabled shop_web-1 enabled") }},
	{name: "member of the clusters cut off", alert: `alertname="OVNRaftMembersApart",database="OVN_Northbound"`,
		breaks: onHost("central3", "ip link set eth0 down"), mends: onHost("central3", "ip link set eth0 up")},
	{name: "node3 does not reply", alert: `alertname="OVNNodeNotRead",node="node3"`,
		breaks: func(m *monitored) {
			if err := os.WriteFile(m.cut, nil, 0o644); err != nil {
				m.Fatal(err)
			}
		},
		mends: func(m *monitored) { _ = os.Remove(m.cut) }},
}, {
	{name: "exporter hangs", alert: `alertname="OvnctlDown",instance="172.30.0.2:9476"`,
		breaks: func(m *monitored) { _ = m.central.Process.Signal(syscall.SIGSTOP) }, mends: func(m *monitored) { _ = m.central.Process.Signal(syscall.SIGCONT) }},
}}

// configure changes the Northbound.
func (m *monitored) configure(command string) {
	m.Helper()
	m.sh("central", "ovn-nbctl --db="+m.lab.NB()+" "+command)
}

// fillZone gives a ct zone of node1 a limit that it has reached.
func (m *monitored) fillZone() {
	m.Helper()
	m.sh("node1", `zone=$(ovn-appctl -t ovn-controller ct-zone-list | sed -n 's/^shop_client //p')
ovs-appctl dpctl/ct-set-limits zone=$zone,limit=1
for i in $(seq 20); do
	ovs-appctl dpctl/ct-get-limits zone=$zone | grep -q 'count=[1-9]' && exit 0
	`+m.lab.Dir+`/enter shop_client timeout 1 bash -c '</dev/tcp/10.96.0.10/80' || :
done
exit 1`)
}

// TestServeAlerts makes ten faults on the lab: each fires its alert within a minute, and it clears.
func TestServeAlerts(t *testing.T) {
	m := startMonitored(t)
	if n := m.firing(`alertname=~".+"`); n != 0 {
		all, _ := m.query("ALERTS")
		t.Fatalf("%d alerts fire on a healthy lab: %v", n, all)
	}
	minute := m.lab.Allow(time.Minute)
	for _, group := range monitoredFaults {
		began := make([]time.Time, len(group))
		for i, f := range group {
			f.breaks(m)
			began[i] = time.Now()
		}
		for i, f := range group {
			t.Logf("%s: fires after %.0f s", f.name, m.await(f.alert, true, began[i], minute).Seconds())
		}
		for i, f := range group {
			f.mends(m)
			began[i] = time.Now()
		}
		for i, f := range group {
			t.Logf("%s: clears after %.0f s", f.name, m.await(f.alert, false, began[i], minute+f.rests).Seconds())
		}
	}
	m.dashboard()
}

var dashboardVariables = strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", "1m")

// dashboard runs each query of the dashboard. Those that a healthy lab has nothing for may find nothing.
func (m *monitored) dashboard() {
	m.Helper()
	text, err := os.ReadFile("../../packaging/prometheus/dashboard.json")
	if err != nil {
		m.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		m.Fatal(err)
	}
	queries := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries++
			found, err := m.query(dashboardVariables.Replace(target.Expr))
			if err != nil {
				m.Errorf("%s: %v", p.Title, err)
			}
			if rare := regexp.MustCompile(`> 0\)?$|findings|zone_|tunnel_lost`).MatchString(target.Expr); len(found) == 0 && !rare {
				m.Errorf("%s: nothing found by %s", p.Title, target.Expr)
			}
		}
	}
	if queries < 20 {
		m.Errorf("%d queries in the dashboard: are they still found?", queries)
	}
}

// TestServeWeb serves over TLS with a password, by the plain flags that operators know, and nobody gets in without.
func TestServeWeb(t *testing.T) {
	m := &monitored{T: t, lab: labtest.Shared(t, lab.OVNKubernetes())}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", dir+"/tls.key", "-out", dir+"/tls.crt", "-days", "2", "-subj", "/CN=node1", "-addext", "subjectAltName=IP:127.0.0.1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const web = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\nbasic_auth_users: {prometheus: $2a$10$Im.tnBGmdYjMJtf74NuI2u2PuGPN2Wth9IVsa8mbtsO54CwdxMKy2}\n"
	if err := os.WriteFile(dir+"/web.yaml", []byte(web), 0o600); err != nil {
		t.Fatal(err)
	}
	m.start("node1", append([]string{self, "doctor", "--serve", "--web.config.file", dir + "/web.yaml", "--only", "vswitchd-not-running"}, m.lab.Flags()...)...)
	get := func(args ...string) string {
		out, _ := m.lab.Program(t.Context(), "node1", append([]string{"curl", "-s", "-w", "%{http_code}", "--cacert", dir + "/tls.crt", "--max-time", "10"}, args...)...).CombinedOutput()
		return string(out)
	}
	password := []string{"-u", "prometheus:correct horse", "https://127.0.0.1:9476"}
	for began := time.Now(); !strings.HasPrefix(get("-u", password[1], password[2]+"/readyz"), "ok"); time.Sleep(500 * time.Millisecond) {
		if time.Since(began) > m.lab.Allow(time.Minute) {
			t.Fatal("it does not become ready")
		}
	}
	for _, test := range []struct{ name, got, has string }{
		{"password", get("-u", password[1], password[2]+"/metrics"), "ovnctl_looks_total"},
		{"no password", get(password[2] + "/metrics"), "401"},
		{"wrong password", get("-u", "prometheus:wrong", password[2]+"/metrics"), "401"},
		{"no password for health", get(password[2] + "/healthz"), "401"},
		{"no TLS", get("-u", password[1], "http://127.0.0.1:9476/metrics"), "400"},
		{"another page", get("-u", password[1], password[2]+"/debug/pprof/"), "404"},
		{"another method", get("-u", password[1], "-X", "POST", password[2]+"/metrics"), "405"},
		{"loopback alone", get("https://172.30.0.11:9476/metrics"), "000"},
	} {
		if !strings.Contains(test.got, test.has) {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.has)
		}
	}
	metrics := m.sh("node1", "curl -s --cacert "+dir+"/tls.crt -u 'prometheus:correct horse' https://127.0.0.1:9476/metrics | promtool check metrics && echo good")
	if metrics != "good" {
		t.Errorf("promtool: %s", metrics)
	}
}

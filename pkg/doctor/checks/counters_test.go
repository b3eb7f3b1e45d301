package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/host"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/ovs"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// saved is a directory of one node, n1, with these files and an Open_vSwitch
// database of these tables, in the form of `ovsdb-client dump -f json`.
func saved(t *testing.T, tables, files map[string]string) *snapshot.Deployment {
	t.Helper()
	dir := t.TempDir()
	var conf strings.Builder
	for _, name := range []string{"Open_vSwitch", "Bridge", "Port", "Interface"} {
		table := tables[name]
		if table == "" {
			table = `"headings":["_uuid"],"data":[]`
		}
		fmt.Fprintf(&conf, "{%s,\"caption\":\"%s table\"}\n", table, name)
	}
	files["conf.json"] = conf.String()
	for name, text := range files {
		path := filepath.Join(dir, "n1", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := cluster.Open(t.Context(), cluster.Config{Offline: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return snapshot.Look(t.Context(), c, snapshot.Options{})
}

// only is what one check says.
func only(d *snapshot.Deployment, c *doctor.Check) []doctor.Finding {
	return doctor.Examine(d, []*doctor.Check{c}, nil).Findings
}

// faultsOf are its errors and warnings, "error: OBJECT REASON".
func faultsOf(d *snapshot.Deployment, c *doctor.Check) (list []string) {
	for _, f := range only(d, c) {
		if f.Result.Fault() {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.Result, f.Object, f.Reason)))
		}
	}
	return list
}

func wantFaults(t *testing.T, d *snapshot.Deployment, c *doctor.Check, want ...string) {
	t.Helper()
	if got := faultsOf(d, c); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s finds %q, want %q", c.Name, got, want)
	}
}

const plainSystem = `"headings":["_uuid","external_ids","other_config"],"data":[[["uuid","11111111-1111-1111-1111-111111111111"],["map",[]],["map",[]]]]`

func TestUnderlayConntrackTracksTunnel(t *testing.T) {
	conntrack := func(count, most int, lines ...string) *snapshot.Deployment {
		return saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{
			"files/proc/sys/net/netfilter/nf_conntrack_count": fmt.Sprintln(count),
			"files/proc/sys/net/netfilter/nf_conntrack_max":   fmt.Sprintln(most),
			"files/proc/net/nf_conntrack":                     strings.Join(lines, "\n") + "\n",
		})
	}
	outer := "ipv4     2 udp      17 29 src=10.0.0.1 dst=10.0.0.2 sport=45123 dport=6081 [UNREPLIED] src=10.0.0.2 dst=10.0.0.1 sport=6081 dport=45123 mark=0 zone=0 use=2"
	inner := "ipv4     2 udp      17 29 src=10.244.0.1 dst=10.244.0.2 sport=45123 dport=53 src=10.244.0.2 dst=10.244.0.1 sport=53 dport=6081 mark=0 zone=7 use=2"
	other := "ipv4     2 tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=45123 dport=6081 src=10.0.0.2 dst=10.0.0.1 sport=6081 dport=45123 [ASSURED] mark=0 use=2"
	wantFaults(t, conntrack(80, 100, append(times(12, outer), times(68, other)...)...), host.UnderlayConntrackTracksTunnel,
		"warning: node n1")
	wantFaults(t, conntrack(80, 100, append(times(40, inner), times(40, other)...)...), host.UnderlayConntrackTracksTunnel)
	wantFaults(t, conntrack(80, 100, append(times(9, outer), times(71, other)...)...), host.UnderlayConntrackTracksTunnel)
	// There is room enough.
	wantFaults(t, conntrack(40, 100, times(40, outer)...), host.UnderlayConntrackTracksTunnel)
	// What the capture lacks is unknown; what the kernel lacks is nothing.
	d := saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{})
	if got := only(d, host.UnderlayConntrackTracksTunnel); len(got) != 1 || got[0].Result != doctor.Unknown {
		t.Errorf("without the files: %+v", got)
	}
	d = saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{"absent/files/proc/sys/net/netfilter/nf_conntrack_count": ""})
	if got := only(d, host.UnderlayConntrackTracksTunnel); len(got) != 0 {
		t.Errorf("without connection tracking: %+v", got)
	}
}

func times(n int, line string) (lines []string) {
	for range n {
		lines = append(lines, line)
	}
	return lines
}

func TestUpcallLostPackets(t *testing.T) {
	log := func(ago time.Duration) *snapshot.Deployment {
		stamp := time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z")
		return saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{
			"logs/ovs-vswitchd.log": stamp + "|00042|dpif_netlink(handler5)|WARN|system@ovs-system: lost packet on port channel 3 of handler 1\n" + stamp + "|00043|bridge|INFO|nothing\n",
		})
	}
	wantFaults(t, log(10*time.Minute), ovs.UpcallLostPackets, "warning: daemon ovs-vswitchd on n1 logged")
	wantFaults(t, log(2*time.Hour), ovs.UpcallLostPackets)
}

func TestDPDKNotInitialised(t *testing.T) {
	dpdk := func(init string, initialised bool, files map[string]string) *snapshot.Deployment {
		return saved(t, map[string]string{
			"Open_vSwitch": fmt.Sprintf(`"headings":["_uuid","external_ids","other_config","dpdk_initialized"],"data":[[["uuid","11111111-1111-1111-1111-111111111111"],["map",[]],["map",[["dpdk-init","%s"]]],%v]]`, init, initialised),
			"Interface":    `"headings":["_uuid","name","type","error"],"data":[[["uuid","22222222-2222-2222-2222-222222222222"],"dpdk0","dpdk","could not open network device dpdk0 (Address family not supported by protocol)"]]`,
		}, files)
	}
	d := dpdk("true", false, map[string]string{
		"files/proc/meminfo":    "MemTotal: 1 kB\nHugePages_Total:       0\nHugePages_Free:        0\n",
		"logs/ovs-vswitchd.log": "2026-01-02T03:04:05.678Z|00009|dpdk|ERR|EAL: Cannot get hugepage information.\n",
	})
	wantFaults(t, d, ovs.DPDKNotInitialised, "error: daemon ovs-vswitchd on n1 no-hugepages")
	f := only(d, ovs.DPDKNotInitialised)[0]
	if !strings.Contains(fmt.Sprint(f.Evidence), "EAL: Cannot get hugepage") || len(f.Also) != 2 {
		t.Errorf("%+v", f)
	}
	wantFaults(t, dpdk("true", true, map[string]string{}), ovs.DPDKNotInitialised)
	wantFaults(t, dpdk("false", false, map[string]string{}), ovs.DPDKNotInitialised, "error: daemon ovs-vswitchd on n1 not-requested")
	plain := saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{})
	if got := only(plain, ovs.DPDKNotInitialised); len(got) != 1 || got[0].Result != doctor.Skipped {
		t.Errorf("without DPDK: %+v", got)
	}
}

func TestHWOffloadIsANote(t *testing.T) {
	offload := strings.Replace(plainSystem, `["map",[]]]]`, `["map",[["hw-offload","true"]]]]]`, 1)
	d := saved(t, map[string]string{"Open_vSwitch": offload}, map[string]string{})
	if got := only(d, ovs.HWOffloadHidesCounters); len(got) != 1 || got[0].Result != doctor.OK || got[0].Object != doctor.NodeObject("n1") {
		t.Errorf("%+v", got)
	}
}

// Of saved data there is no second look: what compares two says so.
func TestSavedDataIsOneLook(t *testing.T) {
	d := saved(t, map[string]string{"Open_vSwitch": plainSystem}, map[string]string{
		"files/proc/net/snmp": "Udp: InDatagrams InCsumErrors\nUdp: 5 7\n", "absent/files/proc/net/snmp6": "",
		"daemons.json": "[]",
	})
	got := only(d, host.TXChecksumOffloadBroken)
	if len(got) != 1 || got[0].Result != doctor.Unknown || !strings.Contains(got[0].Title, "this capture has one") {
		t.Errorf("%+v", got)
	}
}

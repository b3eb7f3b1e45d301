//go:build lab

package desired

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// observed is what makes OVN sample and mirror packets, by the table that it needs.
var observed = []struct{ table, script string }{
	{"NB_Global", `set NB_Global . options:debug_drop_collector_set=5 options:debug_drop_domain_id=9`},
	{"Sample_Collector", `
		-- --id=@all create Sample_Collector id=1 name=all probability=65535 set_id=11
		-- --id=@some create Sample_Collector id=2 name=some probability=655 set_id=12
		-- --id=@none create Sample_Collector id=3 name=none probability=0 set_id=13
		-- --id=@new create Sample collectors=@all,@some metadata=4001
		-- --id=@est create Sample collectors=@some metadata=4002
		-- --id=@never create Sample collectors=@none metadata=4003
		-- --id=@a1 create ACL direction=to-lport priority=3001 action=allow-related match="tcp.dst==4001" sample_new=@new sample_est=@est
		-- --id=@a2 create ACL direction=from-lport priority=3002 action=allow-related match="tcp.dst==4002" sample_new=@new
		-- --id=@a3 create ACL direction=to-lport priority=3003 action=drop match="tcp.dst==4003" sample_new=@new sample_est=@est
		-- --id=@a4 create ACL direction=from-lport priority=3004 action=reject match="tcp.dst==4004" sample_est=@est
		-- --id=@a5 create ACL direction=to-lport priority=3005 action=allow match="udp.dst==4005" sample_new=@never sample_est=@never
		-- --id=@a6 create ACL direction=from-lport priority=3006 action=allow-stateless match="udp.dst==4006" sample_new=@new
		-- --id=@a7 create ACL direction=from-lport priority=3007 action=allow-related match="udp.dst==4007" options:apply-after-lb=true sample_new=@est sample_est=@new
		-- add Port_Group watched acls @a1,@a2,@a3,@a4,@a5,@a6,@a7`},
	{"Sampling_App", `-- create Sampling_App type=acl-new id=21 -- create Sampling_App type=acl-est id=22 -- create Sampling_App type=drop id=23`},
	{"Mirror_Rule", `-- mirror-add tap lport both shop_web-1 -- mirror-rule-add tap 100 tcp mirror -- mirror-rule-add tap 200 tcp.dst==22 skip -- mirror-rule-add tap 300 ip4.src==10.244.0.0/16 mirror
		-- lsp-attach-mirror shop_client tap -- lsp-attach-mirror bank_vault-1 tap`},
}

// Samples of dropped packets, of connections, and copies of packets: what ovn-controller installs for them.
func TestLabObserved(t *testing.T) { observedAgree(t, "") }

func observedAgree(t *testing.T, release string) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: release})
	nbctl := func(args ...string) (string, error) {
		out, err := l.Command(t.Context(), "central", append([]string{"ovn-nbctl", "--timeout=60", "--db=" + l.NB()}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := nbctl("pg-add", "watched", "shop_client", "shop_web-1", "shop_web-2", "bank_vault-1"); err != nil {
		t.Fatal(out)
	}
	var done []string
	for _, o := range observed {
		if _, err := nbctl("list", o.table); err != nil {
			continue // this release has none
		}
		if out, err := nbctl(append([]string{"--wait=hv"}, strings.Fields(strings.TrimPrefix(strings.TrimSpace(o.script), "-- "))...)...); err != nil {
			t.Fatalf("%s: %s", o.table, out)
		}
		done = append(done, o.table)
	}
	// Two of three sets of collectors are on two of the nodes: ovn-controller leaves out the samples for others.
	for _, node := range l.Topology.Nodes[:2] {
		script := "-- --id=@b get Bridge br-int -- --id=@i create IPFIX targets=\"127.0.0.1:4739\" -- create Flow_Sample_Collector_Set bridge=@b id=5 ipfix=@i -- create Flow_Sample_Collector_Set bridge=@b id=12 ipfix=@i"
		if out, err := l.Command(t.Context(), node.Name, append([]string{"ovs-vsctl", "--timeout=60"}, strings.Fields(script)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := nbctl("--wait=hv", "sync"); err != nil {
		t.Fatal(out)
	}
	counts := map[string]int{}
	for _, node := range l.Topology.Nodes {
		out, err := l.Command(t.Context(), node.Name, "ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", "br-int").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range []string{"sample(", "clone("} {
			counts[action] += strings.Count(string(out), action)
		}
	}
	t.Logf("%s: %q: %v", l.Release, done, counts)
	if counts["sample("] == 0 {
		t.Error("nothing is sampled")
	}
	agrees(t, l)
}

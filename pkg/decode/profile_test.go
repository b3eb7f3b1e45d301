package decode

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/release"
)

func TestProfile(t *testing.T) {
	// One line for each way in which the releases number their tables.
	lines := []struct {
		releases                                                  []string
		detect, process, init, remote, vtep, local, check, egress int
		last, helper                                              release.PhysicalTable // the newest helper of the first release, and one it lacks
	}{
		{[]string{"20.12.0", "20.12.1"}, 0, 0, 0, 32, 0, 33, 34, 40, release.CtSNATHairpin, release.GetFDB},
		{[]string{"21.03.0", "21.06.1", "21.09.0", "21.12.2", "22.03.0", "22.03.8"}, 0, 0, 0, 37, 0, 38, 39, 40, release.LookupFDB, release.InPortSec},
		{[]string{"22.06.0"}, 0, 0, 0, 37, 0, 38, 39, 40, release.OutPortSec, release.ECMPNextHop},
		{[]string{"22.06.1", "22.06.3", "22.09.0", "22.09.1"}, 0, 0, 0, 37, 0, 38, 39, 40, release.ECMPNextHop, release.ChkLBAffinity},
		{[]string{"22.12.0", "23.03.0"}, 0, 0, 0, 37, 0, 38, 39, 40, release.ChkLBAffinity, release.MACCacheUse},
		{[]string{"22.09.2", "22.09.3"}, 37, 38, 0, 39, 0, 40, 41, 42, release.ECMPNextHop, release.ChkLBAffinity},
		{[]string{"22.12.1", "22.12.2", "23.03.1", "23.03.3", "23.06.1", "23.06.5"}, 37, 38, 0, 39, 0, 40, 41, 42, release.ChkLBAffinity, release.MACCacheUse},
		{[]string{"23.09.0", "23.09.6", "24.03.0", "24.03.4"}, 37, 38, 0, 39, 0, 40, 41, 42, release.MACCacheUse, release.CtZoneLookup},
		{[]string{"24.03.5"}, 37, 38, 0, 39, 0, 40, 41, 42, release.CtOrigTP, release.CtZoneLookup},
		{[]string{"24.03.6", "24.03.7"}, 37, 38, 0, 39, 0, 40, 41, 42, release.CtStateSave, release.FloodRemote},
		{[]string{"23.06.0"}, 38, 39, 37, 40, 0, 41, 42, 43, release.ChkLBAffinity, release.MACCacheUse},
		{[]string{"24.09.0", "24.09.1"}, 40, 41, 0, 42, 0, 43, 44, 45, release.CtZoneLookup, release.CtOrigNW},
		{[]string{"24.09.3"}, 40, 41, 0, 42, 0, 43, 44, 45, release.CtStateSave, release.FloodRemote},
		{[]string{"25.03.0"}, 40, 41, 0, 42, 0, 43, 44, 45, release.FloodRemote, release.CtStateSave},
		{[]string{"25.03.1", "25.03.3"}, 40, 41, 0, 42, 0, 43, 44, 45, release.CtStateSave, release.CtOrigProto},
		{[]string{"25.09.0", "25.09.3"}, 41, 42, 0, 43, 44, 45, 46, 47, release.GetRemoteFDB, release.LearnRemoteFDB},
		{[]string{"26.03.0", "26.03.2"}, 42, 43, 0, 44, 45, 46, 47, 48, release.LearnRemoteFDB, release.EVPNARPLookup},
	}
	for _, line := range lines {
		for _, name := range line.releases {
			c := calibrate(nil, release.Parse(name))
			want := map[release.PhysicalTable]int{
				release.PhyToLog: 0, release.DetectLargePkt: line.detect, release.ProcessLargePkt: line.process, release.OutputInit: line.init,
				release.RemoteOutput: line.remote, release.RemoteVTEP: line.vtep, release.LocalOutput: line.local, release.CheckLoopback: line.check,
				release.SaveInport: 64, release.LogToPhy: 65, release.MACBinding: 66, release.ChkLBHairpin: 68,
			}
			for table, of := range want {
				if got, ok := c.tables[table]; got != of || ok != (of != 0 || table == release.PhyToLog) {
					t.Errorf("%s: %s is table %d, %t, want %d", name, table, got, ok, of)
				}
			}
			if c.Base(Ingress) != 8 || c.Base(Egress) != line.egress {
				t.Errorf("%s: bases %d and %d, want 8 and %d", name, c.Base(Ingress), c.Base(Egress), line.egress)
			}
			if _, ok := c.tables[line.last]; !ok {
				t.Errorf("%s: no %s", name, line.last)
			}
			if of, ok := c.tables[line.helper]; ok {
				t.Errorf("%s: %s is table %d, that release has none", name, line.helper, of)
			}
			if want := "profile " + name; c.Source() != want {
				t.Errorf("%s: source %q, want %q", name, c.Source(), want)
			}
		}
	}
}

func TestProfileOfTheFuture(t *testing.T) {
	c := calibrate(nil, release.Parse("26.09.0"))
	if of, _ := c.tables[release.SaveInport]; of != 88 || c.Base(Egress) != 62 {
		t.Errorf("SAVE_INPORT is table %d, the egress base %d, want 88 and 62", of, c.Base(Egress))
	}
	if of, _ := c.tables[release.EVPNARPLookup]; of != 113 {
		t.Errorf("EVPN_ARP_LOOKUP is table %d, want 113", of)
	}
	if want := "profile what follows 26.03, a guess for 26.09.0"; c.Source() != want {
		t.Errorf("source %q, want %q", c.Source(), want)
	}
	c = calibrate(nil, release.Version{})
	if c.Source() != "unknown: neither flows nor release" || c.Base(Ingress) != 0 {
		t.Errorf("nothing known: %q, ingress %d", c.Source(), c.Base(Ingress))
	}
	if p := c.Table(12, Switch); p.Pipeline != "" || p.String() != "table 12" {
		t.Errorf("nothing known: table 12 is %v", p)
	}
}

func TestPlace(t *testing.T) {
	c := calibrate(nil, release.Parse("23.03.1"))
	for of, want := range map[int]string{
		0: "PHY_TO_LOG", 7: "table 7", 8: "ingress 0", 36: "ingress 28", 37: "LARGE_PKT_DETECT", 38: "LARGE_PKT_PROCESS",
		39: "REMOTE_OUTPUT", 40: "LOCAL_OUTPUT", 41: "CHECK_LOOPBACK", 42: "egress 0", 63: "egress 21",
		64: "SAVE_INPORT", 65: "LOG_TO_PHY", 66: "MAC_BINDING", 78: "CHK_LB_AFFINITY", 79: "table 79", 254: "table 254", -1: "table -1",
	} {
		if got := c.Table(of, Switch).String(); got != want {
			t.Errorf("table %d is %q, want %q", of, got, want)
		}
	}
}

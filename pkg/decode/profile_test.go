package decode

import "testing"

func TestProfile(t *testing.T) {
	// One line for each way in which the releases number their tables.
	lines := []struct {
		releases                                                  []string
		detect, process, init, remote, vtep, local, check, egress int
		last, helper                                              PhysicalTable // the newest helper of the first release, and one it lacks
	}{
		{[]string{"20.12.0", "20.12.1"}, 0, 0, 0, 32, 0, 33, 34, 40, ctSNATHairpin, getFDB},
		{[]string{"21.03.0", "21.06.1", "21.09.0", "21.12.2", "22.03.0", "22.03.8"}, 0, 0, 0, 37, 0, 38, 39, 40, lookupFDB, inPortSec},
		{[]string{"22.06.0"}, 0, 0, 0, 37, 0, 38, 39, 40, outPortSec, ecmpNextHop},
		{[]string{"22.06.1", "22.06.3", "22.09.0", "22.09.1"}, 0, 0, 0, 37, 0, 38, 39, 40, ecmpNextHop, chkLBAffinity},
		{[]string{"22.12.0", "23.03.0"}, 0, 0, 0, 37, 0, 38, 39, 40, chkLBAffinity, macCacheUse},
		{[]string{"22.09.2", "22.09.3"}, 37, 38, 0, 39, 0, 40, 41, 42, ecmpNextHop, chkLBAffinity},
		{[]string{"22.12.1", "22.12.2", "23.03.1", "23.03.3", "23.06.1", "23.06.5"}, 37, 38, 0, 39, 0, 40, 41, 42, chkLBAffinity, macCacheUse},
		{[]string{"23.09.0", "23.09.6", "24.03.0", "24.03.4"}, 37, 38, 0, 39, 0, 40, 41, 42, macCacheUse, ctZoneLookup},
		{[]string{"24.03.5"}, 37, 38, 0, 39, 0, 40, 41, 42, ctOrigTP, ctZoneLookup},
		{[]string{"24.03.6", "24.03.7"}, 37, 38, 0, 39, 0, 40, 41, 42, ctStateSave, floodRemote},
		{[]string{"23.06.0"}, 38, 39, 37, 40, 0, 41, 42, 43, chkLBAffinity, macCacheUse},
		{[]string{"24.09.0", "24.09.1"}, 40, 41, 0, 42, 0, 43, 44, 45, ctZoneLookup, ctOrigNW},
		{[]string{"24.09.3"}, 40, 41, 0, 42, 0, 43, 44, 45, ctStateSave, floodRemote},
		{[]string{"25.03.0"}, 40, 41, 0, 42, 0, 43, 44, 45, floodRemote, ctStateSave},
		{[]string{"25.03.1", "25.03.3"}, 40, 41, 0, 42, 0, 43, 44, 45, ctStateSave, ctOrigProto},
		{[]string{"25.09.0", "25.09.3"}, 41, 42, 0, 43, 44, 45, 46, 47, getRemoteFDB, learnRemoteFDB},
		{[]string{"26.03.0", "26.03.2"}, 42, 43, 0, 44, 45, 46, 47, 48, learnRemoteFDB, evpnARPLookup},
	}
	for _, line := range lines {
		for _, release := range line.releases {
			c := calibrate(nil, ParseVersion(release))
			want := map[PhysicalTable]int{
				phyToLog: 0, detectLargePkt: line.detect, processLargePkt: line.process, outputInit: line.init,
				remoteOutput: line.remote, remoteVTEP: line.vtep, localOutput: line.local, checkLoopback: line.check,
				saveInport: 64, logToPhy: 65, macBinding: 66, chkLBHairpin: 68,
			}
			for table, of := range want {
				if got, ok := c.physical(table); got != of || ok != (of != 0 || table == phyToLog) {
					t.Errorf("%s: %s is table %d, %t, want %d", release, table, got, ok, of)
				}
			}
			if c.Base(Ingress) != 8 || c.Base(Egress) != line.egress {
				t.Errorf("%s: bases %d and %d, want 8 and %d", release, c.Base(Ingress), c.Base(Egress), line.egress)
			}
			if _, ok := c.physical(line.last); !ok {
				t.Errorf("%s: no %s", release, line.last)
			}
			if of, ok := c.physical(line.helper); ok {
				t.Errorf("%s: %s is table %d, that release has none", release, line.helper, of)
			}
			if want := "profile " + release; c.Source() != want {
				t.Errorf("%s: source %q, want %q", release, c.Source(), want)
			}
		}
	}
}

func TestProfileOfTheFuture(t *testing.T) {
	c := calibrate(nil, ParseVersion("26.09.0"))
	if of, _ := c.physical(saveInport); of != 88 || c.Base(Egress) != 62 {
		t.Errorf("SAVE_INPORT is table %d, the egress base %d, want 88 and 62", of, c.Base(Egress))
	}
	if of, _ := c.physical(evpnARPLookup); of != 113 {
		t.Errorf("EVPN_ARP_LOOKUP is table %d, want 113", of)
	}
	if want := "profile what follows 26.03, a guess for 26.09.0"; c.Source() != want {
		t.Errorf("source %q, want %q", c.Source(), want)
	}
	c = calibrate(nil, Version{})
	if c.Source() != "unknown: neither flows nor release" || c.Base(Ingress) != 0 {
		t.Errorf("nothing known: %q, ingress %d", c.Source(), c.Base(Ingress))
	}
	if p := c.Table(12, Switch); p.Pipeline != "" || p.String() != "table 12" {
		t.Errorf("nothing known: table 12 is %v", p)
	}
}

func TestPlace(t *testing.T) {
	c := calibrate(nil, ParseVersion("23.03.1"))
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

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"23.03.1-20.27.0-70.6": "23.03.1",
		"ovn-controller 25.03.0\nOpen vSwitch Library 3.5.0\nOpenFlow versions 0x6:0x6\nSB DB Schema 20.41.0\n": "25.03.0",
		"ovn-controller 26.03.1":  "26.03.1",
		"22.09.2":                 "22.09.2",
		"v24.03.6":                "24.03.6",
		"":                        "unknown release",
		"3.1.0":                   "unknown release",
		"20.27.0":                 "unknown release",
		"99999999999999999999.03": "unknown release",
		"23.03.1111111111111111":  "unknown release",
	} {
		if got := ParseVersion(text).String(); got != want {
			t.Errorf("ParseVersion(%q) = %s, want %s", text, got, want)
		}
	}
}

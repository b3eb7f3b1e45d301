package openflow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bondShow is what Open vSwitch 3.1 said of three bonds.
const bondShow = `---- ba ----
bond_mode: active-backup
bond may use recirculation: no, Recirc-ID : -1
bond-hash-basis: 0
lb_output action: disabled, bond-id: -1
updelay: 0 ms
downdelay: 0 ms
lacp_status: off
lacp_fallback_ab: true
active-backup primary: <none>
active member mac: 1e:da:16:1b:34:c6(v2)

member v1: disabled
  may_enable: false

member v2: enabled
  active member
  may_enable: true

---- tt ----
bond_mode: balance-slb
bond may use recirculation: no, Recirc-ID : -1
bond-hash-basis: 7
lb_output action: disabled, bond-id: -1
all members active: false
updelay: 0 ms
downdelay: 0 ms
next rebalance: 4988 ms
lacp_status: negotiated
lacp_fallback_ab: false
active-backup primary: <none>
active member mac: 16:00:12:91:0e:e8(w4)

member w3: enabled
  may_enable: true
  hash 202: 5042 kB load

member w4: enabled
  active member
  may_enable: true
  hash 41: 2287 kB load
  hash 217: 4820 kB load

---- bt ----
bond_mode: balance-tcp
bond may use recirculation: yes, Recirc-ID : 1
lb_output action: enabled, bond-id: 2
lacp_status: configured
`

func TestParseBonds(t *testing.T) {
	want := []Bond{
		{Name: "ba", Mode: "active-backup", LACP: "off", Fallback: true, Members: []BondMember{{Name: "v1"}, {Name: "v2", Enabled: true, Active: true}}},
		{Name: "tt", Mode: "balance-slb", LACP: "negotiated", Basis: 7, Members: []BondMember{
			{Name: "w3", Enabled: true, Hashes: []uint8{202}}, {Name: "w4", Enabled: true, Active: true, Hashes: []uint8{41, 217}}}},
		{Name: "bt", Mode: "balance-tcp", LACP: "configured", Recirc: 1, Output: 2},
	}
	if diff := cmp.Diff(want, ParseBonds(bondShow)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseBonds(f *testing.F) {
	f.Add(bondShow)
	f.Fuzz(func(t *testing.T, text string) {
		if bonds := ParseBonds(text); len(bonds) > len(text) {
			t.Errorf("%d bonds in %d bytes", len(bonds), len(text))
		}
	})
}

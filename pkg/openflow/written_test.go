package openflow

import "testing"

// TestWrittenActions has actions as people write them, and how they print once they are read.
func TestWrittenActions(t *testing.T) {
	for written, printed := range map[string]string{
		"output(10)":                   "output:10",
		"output:in_port":               "IN_PORT",
		"output:reg0":                  "output:reg0[]",
		"in_port,local,all,normal":     "IN_PORT,LOCAL,ALL,NORMAL",
		"set_field(7->reg0)":           "set_field:0x7->reg0",
		"load(5->reg1)":                "load:0x5->reg1[]",
		"move(reg0->reg1)":             "move:reg0[]->reg1[]",
		"push(reg0[0..3]),pop(reg1[])": "push:reg0[0..3],pop:reg1[]",
		"mod_dl_src=00:00:00:00:00:01": "mod_dl_src:00:00:00:00:00:01",
		"strip_vlan(),dec_ttl()":       "strip_vlan,dec_ttl()",
		"set_queue=3":                  "set_queue:3",
		"load:10.0.0.9->NXM_OF_IP_DST[],load:0x10zz->reg0,load:09->reg1": "load:0xa->NXM_OF_IP_DST[],load:0x10->reg0[],load:0->reg1[]",
	} {
		list, err := ParseActions(written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if got := list.String(); got != printed {
			t.Errorf("%s is read as %s, want %s", written, got, printed)
		}
	}
	for written, printed := range map[string]string{
		"ip6":                 "ip6",
		"tcp,tp_src[5]=1":     "tcp,tp_src=0x20/0x20",
		"reg3[]=3":            "reg3=0x3",
		"reg3[3..5]=3":        "reg3=0x18/0x38",
		"actset_output=unset": "actset_output=UNSET",
	} {
		m, err := ParseMatch(written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
		} else if got := m.String(); got != printed {
			t.Errorf("%s is read as %s, want %s", written, got, printed)
		}
	}
	if list, err := ParseActions("load:aa:bb:cc:dd:ee:ff->NXM_OF_ETH_DST[]"); err == nil {
		t.Errorf("an Ethernet address is loaded: %s", list)
	}
	if _, err := ParseMatch("reg3[3..5]=8"); err == nil {
		t.Error("reg3[3..5]=8 is read: it is too wide")
	}
	e, err := ParseFlowEntry("arp,dl_vlan=0xffff actions=drop")
	if term, ok := e.Match.Field("vlan_tci"); err != nil || !ok || !term.Value.IsZero() || term.Mask.Lo != 0xffff {
		t.Errorf("dl_vlan=0xffff is read as %s, %v: want no tag", e.Match, err)
	}
}

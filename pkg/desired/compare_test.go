package desired

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

func entries(t *testing.T, lines string) []openflow.FlowEntry {
	t.Helper()
	var all []openflow.FlowEntry
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		f, err := new(openflow.Reader).FlowEntry(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// A conjunction whose number was taken has another: its flows are equal all the same, and an edited one of them is not.
func TestCompareRenumbered(t *testing.T) {
	desired := entries(t, `
		cookie=0x1, table=16, priority=5,conj_id=100,ip,metadata=0x1 actions=resubmit(,17)
		table=16, priority=5,ip,metadata=0x1,nw_src=10.0.0.1 actions=conjunction(100,1/2)
		table=16, priority=5,ip,metadata=0x1,nw_src=10.0.0.2 actions=conjunction(100,1/2)
		table=16, priority=5,ip,metadata=0x1,nw_dst=10.0.0.3 actions=conjunction(100,2/2)`)
	installed := entries(t, `
		cookie=0x1, table=16, priority=5,conj_id=101,ip,metadata=0x1 actions=resubmit(,17)
		table=16, priority=5,ip,metadata=0x1,nw_src=10.0.0.1 actions=conjunction(101,1/2)
		table=16, priority=5,ip,metadata=0x1,nw_src=10.0.0.2 actions=conjunction(101,2/2)
		table=16, priority=5,ip,metadata=0x1,nw_dst=10.0.0.4 actions=conjunction(101,2/2)`)
	got := map[Difference]int{}
	for _, p := range Compare(desired, installed) {
		got[p.Difference]++
	}
	if got[Equal] != 2 || got[Edited] != 1 || got[Missing] != 1 || got[Foreign] != 1 {
		t.Errorf("%v: want 2 equal (conj_id and 10.0.0.1), 10.0.0.2 edited, 10.0.0.3 missing, 10.0.0.4 foreign", got)
	}
}

// Of a logical flow that is compiled in another way nothing was changed by hand: its flows are reshaped. What was deleted, added or
// edited beside it is not.
func TestCompareReshaped(t *testing.T) {
	conjunctive := `
		cookie=0x1, table=16, priority=5,conj_id=100,icmp6,metadata=0x1 actions=resubmit(,17)
		table=16, priority=5,icmp6,reg15=0x1,metadata=0x1 actions=conjunction(100,1/2)
		table=16, priority=5,icmp6,reg15=0x2,metadata=0x1 actions=conjunction(100,1/2)
		table=16, priority=5,icmp6,metadata=0x1,icmp_type=135 actions=conjunction(100,2/2)
		table=16, priority=5,icmp6,metadata=0x1,icmp_type=136 actions=conjunction(100,2/2)`
	written := `
		cookie=0x1, table=16, priority=5,icmp6,reg15=0x1,metadata=0x1,icmp_type=135 actions=resubmit(,17)
		cookie=0x1, table=16, priority=5,icmp6,reg15=0x1,metadata=0x1,icmp_type=136 actions=resubmit(,17)
		cookie=0x1, table=16, priority=5,icmp6,reg15=0x2,metadata=0x1,icmp_type=135 actions=resubmit(,17)
		cookie=0x1, table=16, priority=5,icmp6,reg15=0x2,metadata=0x1,icmp_type=136 actions=resubmit(,17)`
	rest := `
		cookie=0x2, table=16, priority=6,ip,metadata=0x1 actions=resubmit(,17)
		cookie=0x3, table=16, priority=7,ip,metadata=0x1 actions=resubmit(,17)`
	changed := `
		cookie=0x2, table=16, priority=6,ip,metadata=0x1 actions=drop
		cookie=0x4, table=16, priority=8,ip,metadata=0x1 actions=resubmit(,17)`
	for _, c := range [][2]string{{conjunctive + rest, written + changed}, {written + rest, conjunctive + changed}} {
		got := map[Difference]int{}
		for _, p := range Compare(entries(t, c[0]), entries(t, c[1])) {
			if !p.Reshaped {
				got[p.Difference]++
			}
		}
		if len(got) != 3 || got[Edited] != 1 || got[Missing] != 1 || got[Foreign] != 1 {
			t.Errorf("%v not reshaped: want 1 edited, 1 missing, 1 foreign", got)
		}
	}
	// A clause that is gone is not what another compiler would leave.
	for _, p := range Compare(entries(t, conjunctive), entries(t, conjunctive[:strings.LastIndex(conjunctive, "\n")])) {
		if p.Reshaped || p.Difference != Equal && p.Difference != Missing {
			t.Errorf("%s, reshaped %t: %s", p.Difference, p.Reshaped, p.Any())
		}
	}
}

// OpenFlow 1.0 has no action that sets more than 64 bits: a dump in it shows two.
func TestSameActions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"set_field:0xfd00001000960000000000000000000a->xxreg1", "load:0xa->NXM_NX_XXREG1[0..63],load:0xfd00001000960000->NXM_NX_XXREG1[64..127]", true},
		{"set_field:0xfd00001000960000000000000000000a->xxreg1", "load:0xa->NXM_NX_XXREG1[0..63],load:0xfd00001000970000->NXM_NX_XXREG1[64..127]", false},
		{"set_field:0xa/0xffff->xxreg1", "load:0xa->NXM_NX_XXREG1[0..15]", true},
		{"set_field:0xa->reg1", "load:0xa->NXM_NX_REG1[]", true},
		{"set_field:0xa->reg1", "load:0xb->NXM_NX_REG1[]", false},
		{"set_field:0xa->reg1", "load:0xa->NXM_NX_REG1[0..30]", false},
	} {
		f := entries(t, "table=1, ip actions="+c.a+"\ntable=1, ip actions="+c.b)
		if SameActions(&f[0], &f[1]) != c.same {
			t.Errorf("%s and %s: same is %t", c.a, c.b, !c.same)
		}
	}
}

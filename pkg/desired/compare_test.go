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

//go:build lab

package decode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// counting counts the transactions of a reader.
type counting struct {
	ovsdb.Reader
	mu      sync.Mutex
	selects int
}

func (c *counting) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	c.mu.Lock()
	c.selects++
	c.mu.Unlock()
	return c.Reader.Select(ctx, queries...)
}

const (
	dpA = "aaaaaaaa-0000-0000-0000-00000000000a"
	dpB = "bbbbbbbb-0000-0000-0000-00000000000b"
	dpC = "cccccccc-0000-0000-0000-00000000000c"
)

// insertFlow writes a logical flow of one datapath or, with group, of a group.
func insertFlow(uuid, owner string, group bool, pipeline string, table, priority int, stage string) string {
	column := "logical_datapath"
	if group {
		column = "logical_dp_group"
	}
	return fmt.Sprintf(`{"op":"insert","table":"Logical_Flow","uuid":%q,"row":{%q:["uuid",%q],"pipeline":%q,
		"table_id":%d,"priority":%d,"match":"1","actions":"next;","external_ids":["map",[["stage-name",%q]]]}}`,
		uuid, column, owner, pipeline, table, priority, stage)
}

// southbound is a server with three datapaths and flows whose UUIDs begin with
// the same 32 bits.
func southbound(t *testing.T) (*ovsdbtest.Server, *counting) {
	t.Helper()
	s := ovsdbtest.Start(t, ovsdbtest.Southbound)
	var ops []string
	for i, uuid := range []string{dpA, dpB, dpC} {
		ops = append(ops, fmt.Sprintf(`{"op":"insert","table":"Datapath_Binding","uuid":%q,"row":{"tunnel_key":%d,
			"external_ids":["map",[["logical-switch",%q]]]}}`, uuid, i+1, uuid))
	}
	const all, two = "dddddddd-0000-0000-0000-000000000003", "dddddddd-0000-0000-0000-000000000002"
	ops = append(ops,
		fmt.Sprintf(`{"op":"insert","table":"Logical_DP_Group","uuid":%q,"row":{"datapaths":["set",[["uuid",%q],["uuid",%q],["uuid",%q]]]}}`, all, dpA, dpB, dpC),
		fmt.Sprintf(`{"op":"insert","table":"Logical_DP_Group","uuid":%q,"row":{"datapaths":["set",[["uuid",%q],["uuid",%q]]]}}`, two, dpA, dpB),
		insertFlow("12345678-0000-0000-0000-000000000001", dpA, false, "ingress", 3, 50, "ls_in_three"),
		insertFlow("12345678-0000-0000-0000-000000000002", all, true, "ingress", 4, 50, "ls_in_four"),
		insertFlow("12345678-0000-0000-0000-000000000003", two, true, "egress", 3, 50, "ls_out_three"),
		insertFlow("12345678-0000-0000-0000-000000000004", dpC, false, "ingress", 3, 60, "ls_in_three"),
		insertFlow("87654321-0000-0000-0000-000000000005", two, true, "ingress", 9, 0, "ls_in_nine"),
	)
	s.Transact(ops...)
	return s, &counting{Reader: ovsdbtest.Dial(t, "OVN_Southbound", s.Remote())}
}

func TestLookup(t *testing.T) {
	_, r := southbound(t)
	f := NewLogicalFlows(r)
	for _, test := range []struct {
		key  FlowKey
		want string // last digits of the UUIDs, or a word of the reason
	}{
		{FlowKey{dpA, 0x12345678, Ingress, 3, 50}, "1"},
		{FlowKey{dpA, 0x12345678, Ingress, 4, 50}, "2"},
		{FlowKey{dpA, 0x12345678, Egress, 3, 50}, "3"},
		{FlowKey{dpB, 0x12345678, Ingress, 4, 50}, "2"},
		{FlowKey{dpB, 0x12345678, Egress, 3, 50}, "3"},
		{FlowKey{dpC, 0x12345678, Ingress, 3, 60}, "4"},
		{FlowKey{dpC, 0x12345678, Ingress, 4, 50}, "2"},
		// Nothing fits in full: all that begin so.
		{FlowKey{dpA, 0x12345678, Ingress, 7, 50}, "123"},
		{FlowKey{dpC, 0x12345678, Egress, 3, 50}, "42"},
		// The tables are unknown so far: what the datapath itself has.
		{FlowKey{Datapath: dpA, Cookie: 0x12345678}, "1"},
		{FlowKey{Datapath: dpB, Cookie: 0x87654321}, "5"},
		{FlowKey{dpC, 0x87654321, Ingress, 9, 0}, "stale"},
		{FlowKey{dpA, 0, Ingress, 3, 50}, "no cookie"},
		{FlowKey{dpA, 1 << 32, Ingress, 3, 50}, "32 bits"},
		{FlowKey{"", 0x12345678, Ingress, 3, 50}, "datapath is unknown"},
	} {
		rows, unknown := f.Lookup(t.Context(), test.key)
		got := ""
		for _, row := range rows {
			got += string(row.UUID[35:])
		}
		if got != test.want && (got != "" || !strings.Contains(unknown, test.want)) {
			t.Errorf("%+v: rows %q, %q, want %q", test.key, got, unknown, test.want)
		}
	}
	if stage := f.stage(t.Context(), &Datapath{UUID: dpA, Kind: Switch}, Ingress, 9); stage != "ls_in_nine" {
		t.Errorf("ingress 9 is %q", stage)
	}
	// The groups, two groups' flows, three datapaths' flows: each once.
	if r.selects != 6 {
		t.Errorf("%d transactions, want 6", r.selects)
	}
}

// A stage has its name before any flow of it was looked for.
func TestStage(t *testing.T) {
	_, r := southbound(t)
	f := NewLogicalFlows(r)
	d := &Datapath{UUID: dpB, Kind: Switch}
	for range 2 {
		if nine, none := f.stage(t.Context(), d, Ingress, 9), f.stage(t.Context(), d, Ingress, 77); nine != "ls_in_nine" || none != "" {
			t.Errorf("ingress 9 is %q, 77 %q", nine, none)
		}
	}
	if stage := f.stage(t.Context(), nil, Ingress, 9); stage != "" {
		t.Errorf("ingress 9 of no datapath is %q", stage)
	}
}

// A flow whose logical flow has moved, or has a double, says so.
func TestDecodeDoubt(t *testing.T) {
	_, r := southbound(t)
	var rows Southbound
	if err := ovsdb.Load(t.Context(), r, &rows); err != nil {
		t.Fatal(err)
	}
	d := &Decoder{
		Names: NewNames(NewLogical(rows), Vswitch{}, nil, Version{}), Flows: NewLogicalFlows(r),
		Calibration: calibrate(nil, ParseVersion("23.03.1")),
	}
	for _, test := range []struct {
		seen Seen
		want string
	}{
		{Seen{Table: 11, Priority: 50, Cookie: 0x12345678, Metadata: 1}, ""},
		{Seen{Table: 17, Priority: 0, Cookie: 0x87654321, Metadata: 1}, ""},
		{Seen{Table: 18, Priority: 0, Cookie: 0x87654321, Metadata: 1}, "its logical flow is of ingress table 9, priority 0: the flow is stale"},
		{Seen{Table: 17, Priority: 1, Cookie: 0x87654321, Metadata: 1}, "its logical flow is of ingress table 9, priority 0: the flow is stale"},
		{Seen{Table: 18, Priority: 50, Cookie: 0x12345678, Metadata: 1}, "3 logical flows begin with 12345678; the first is shown"},
		{Seen{Table: 18, Cookie: 0xfeedbeef, Metadata: 1}, "no logical flow of the datapath begins with feedbeef: the flow is stale, or another controller's"},
		{Seen{Table: 18, Cookie: 0xfeedbeef, Metadata: 9}, "the flow's datapath is unknown"},
		{Seen{Table: 40, Cookie: 0xfeedbeef, Metadata: 1}, "no row of OVN_Southbound begins with the flow's cookie"},
	} {
		if m := d.Decode(t.Context(), test.seen); m.Unknown != test.want {
			t.Errorf("%+v: %q, want %q", test.seen, m.Unknown, test.want)
		}
	}
}

// What the datapath itself has is read first, its groups only if they must be.
func TestLookupIsLazy(t *testing.T) {
	_, r := southbound(t)
	f := NewLogicalFlows(r)
	f.Lookup(t.Context(), FlowKey{dpA, 0x12345678, Ingress, 3, 50})
	if r.selects != 2 {
		t.Errorf("%d transactions for a flow of the datapath itself, want 2", r.selects)
	}
	f.Lookup(t.Context(), FlowKey{dpA, 0x12345678, Ingress, 4, 50})
	if r.selects != 3 {
		t.Errorf("%d transactions with the larger group, want 3", r.selects)
	}
}

// Many flows of a datapath do not wait for its groups one after another, and no group
// is read for a flow that the datapath itself has.
func TestPrefetch(t *testing.T) {
	for _, test := range []struct {
		keys    []FlowKey
		selects int // of the groups' names and of what belongs to a datapath or group
	}{
		{nil, 0},
		{[]FlowKey{{Datapath: dpA, Cookie: 0x12345678}}, 2},
		{[]FlowKey{{Datapath: dpB, Cookie: 0x12345678}}, 3},
		{[]FlowKey{{Datapath: dpB, Cookie: 0x87654321}}, 4},
		{[]FlowKey{{Datapath: dpB, Cookie: 0x87654321}, {Datapath: dpB, Cookie: 0x12345678}}, 4},
		{[]FlowKey{{Datapath: dpA, Cookie: 0x12345678}, {Datapath: dpC, Cookie: 0x12345678}}, 3},
		{[]FlowKey{{Datapath: dpC, Cookie: 0xdeadbeef}}, 3},
	} {
		_, r := southbound(t)
		f := NewLogicalFlows(r)
		f.prefetch(t.Context(), slices.Clone(test.keys))
		if got := r.selects; got != test.selects {
			t.Errorf("%+v: %d transactions, want %d", test.keys, got, test.selects)
		}
		for _, key := range test.keys {
			f.Lookup(t.Context(), key)
		}
		if r.selects != test.selects {
			t.Errorf("%+v: %d transactions after the lookups, want %d", test.keys, r.selects, test.selects)
		}
	}
}

func TestLookupWithoutServer(t *testing.T) {
	s, r := southbound(t)
	f := NewLogicalFlows(r)
	s.Kill()
	for range 2 {
		rows, unknown := f.Lookup(t.Context(), FlowKey{dpA, 0x12345678, Ingress, 3, 50})
		if len(rows) != 0 || !strings.HasPrefix(unknown, "OVN_Southbound could not be read: ") {
			t.Errorf("rows %v, %q", rows, unknown)
		}
	}
	if r.selects != 1 {
		t.Errorf("%d transactions with a dead server, want 1", r.selects)
	}
	if _, unknown := NewLogicalFlows(nil).Lookup(t.Context(), FlowKey{dpA, 1, Ingress, 3, 50}); unknown != "OVN_Southbound was not read" {
		t.Errorf("without a reader: %q", unknown)
	}
}

// A file says what the server said.
func TestLookupOffline(t *testing.T) {
	s, _ := southbound(t)
	file, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	rows, unknown := NewLogicalFlows(file).Lookup(t.Context(), FlowKey{dpB, 0x12345678, Egress, 3, 50})
	if len(rows) != 1 || rows[0].UUID[35:] != "3" {
		t.Errorf("rows %v, %q", rows, unknown)
	}
}

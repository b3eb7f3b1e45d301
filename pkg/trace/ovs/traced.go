package ovs

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A traced pass is one that ovs-vswitchd has traced with those before it: ofproto/trace goes on with what it assumes of conntrack.
type traced struct {
	passes []*openflow.Replayed // of the reply
	number int                  // of this pass
}

// after returns the pass in which a packet comes back from conntrack; nil if the reply does not have it, or has it of a packet
// that its flows may tell from this one.
func (t *traced) after(sent openflow.Event, back *packet.Flow) *traced {
	number := sent.Conntrack.Fork
	if number < 0 || number >= len(t.passes) {
		return nil
	}
	assumed := t.passes[number]
	if assumed.Pass.Failure != "" || !alike(&assumed.Start, back, assumed.Pass.Megaflow) {
		return nil
	}
	again := assumed.Again(back)
	if len(again.Events) != len(assumed.Events) {
		return nil
	}
	now := &traced{passes: slices.Clone(t.passes), number: number}
	now.passes[number] = again
	return now
}

// alike reports whether a switch treats two packets alike that come back from conntrack: they are equal but for what the
// megaflow of one does not match of their connection. Registers and metadata, which no megaflow has, must be equal.
func alike(assumed, back *packet.Flow, megaflow string) bool {
	for term := range strings.SplitSeq(megaflow, ",") {
		name, text, _ := strings.Cut(term, "=")
		if !slices.Contains(ofConnection, name) {
			continue
		}
		f := packet.MustField(name)
		_, mask, err := f.ParseValue(text)
		if err != nil || assumed.Get(f).And(mask) != back.Get(f).And(mask) {
			return false
		}
	}
	a, b := *assumed, *back
	for _, p := range []*packet.Flow{&a, &b} {
		for _, name := range ofConnection {
			p.Set(packet.MustField(name), packet.Value{})
		}
		p.SetUint("recirc_id", 0)
	}
	return a.Equal(&b)
}

// ofConnection are what a switch knows of a packet's connection, beside its zone: ovs-fields(7).
var ofConnection = []string{"ct_state", "ct_mark", "ct_label", "ct_nw_src", "ct_nw_dst", "ct_ipv6_src", "ct_ipv6_dst", "ct_nw_proto", "ct_tp_src", "ct_tp_dst"}

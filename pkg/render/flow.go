package render

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A FlowPass is one trip of a packet through the tables of a node: from its
// arrival, or from where connection tracking gives it back.
type FlowPass struct {
	CTState         string       `json:"ctState"`    // in which it comes back; empty for the packet that arrives
	Connection      string       `json:"connection"` // of which ctState is; empty where it was supposed
	Flow            string       `json:"flow"`       // the packet
	Lookups         []FlowLookup `json:"lookups"`    // in the order in which they are made
	Final           string       `json:"final"`      // the packet after all actions
	Megaflow        string       `json:"megaflow"`
	DatapathActions string       `json:"datapathActions"`
	Failure         string       `json:"failure"`  // why the packet is dropped unseen; empty where it is not
	SlowPath        []string     `json:"slowPath"` // why ovs-vswitchd sees each such packet
}

// A FlowLookup is a lookup in a table, and the flow that it finds.
type FlowLookup struct {
	Bridge   string `json:"bridge"`
	Table    int    `json:"table"`
	Found    bool   `json:"found"`    // else no flow matches
	Match    string `json:"match"`    // of the flow
	Priority int    `json:"priority"` // of the flow
	Cookie   string `json:"cookie"`   // of the flow, in hexadecimal
}

// FlowPasses is the passes of a trace.
func FlowPasses(t *openflow.Trace) []FlowPass {
	state, _ := packet.Lookup("ct_state")
	passes := make([]FlowPass, 0, len(t.Passes))
	for _, p := range t.Passes {
		q := FlowPass{Flow: p.FlowText, Lookups: []FlowLookup{}, Final: p.FinalText, Megaflow: p.Megaflow, DatapathActions: p.DatapathActions,
			Failure: p.Failure, SlowPath: append([]string{}, p.SlowPath...)}
		if q.Final == "unchanged" {
			q.Final = q.Flow
		}
		if p.Recirc != nil && p.Recirc.Conntrack {
			q.CTState = state.Print(packet.Uint(uint64(p.Recirc.CTState)))
			if c := p.Recirc.Connection; c != nil {
				q.Connection = c.String()
			}
		}
		q.lookups("", p.Roots)
		passes = append(passes, q)
	}
	return passes
}

func (q *FlowPass) lookups(bridge string, nodes []*openflow.Node) {
	for _, n := range nodes {
		if n.Kind == openflow.NodeBridge {
			q.lookups(n.Bridge, n.Children)
			continue
		}
		if s := n.Step; s != nil {
			l := FlowLookup{Bridge: bridge, Table: s.Table, Found: s.Miss == openflow.Hit}
			if l.Found {
				l.Match, l.Priority, l.Cookie = s.MatchText, s.Priority, fmt.Sprintf("0x%x", s.Cookie)
			}
			q.Lookups = append(q.Lookups, l)
		}
		q.lookups(bridge, n.Children)
	}
}

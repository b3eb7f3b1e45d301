package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Pass is one trip of a packet through a node's tables: from its arrival, or from its return from conntrack. It is
// the JSON form of an [openflow.Pass]: docs/flow.md.
type Pass struct {
	CTState         string   `json:"ctState"`    // with which it returns; empty for the arriving packet
	Connection      string   `json:"connection"` // source of ctState; empty if assumed
	Flow            string   `json:"flow"`       // the packet
	Lookups         []Lookup `json:"lookups"`    // in order
	Final           string   `json:"final"`      // the packet after all actions
	Megaflow        string   `json:"megaflow"`
	DatapathActions string   `json:"datapathActions"`
	Failure         string   `json:"failure"`  // why Open vSwitch gives up on the packet; may be empty
	SlowPath        []string `json:"slowPath"` // why ovs-vswitchd handles each such packet itself
}

// A Lookup is a table lookup and the flow that it finds.
type Lookup struct {
	Bridge   string `json:"bridge"`
	Table    int    `json:"table"`
	Found    bool   `json:"found"`    // else no flow matches
	Match    string `json:"match"`    // of the flow
	Priority int    `json:"priority"` // of the flow
	Cookie   string `json:"cookie"`   // of the flow, in hexadecimal
}

// Passes converts a trace's passes to their JSON contract.
func Passes(t *openflow.Trace) []Pass {
	state := &packet.CTState
	passes := make([]Pass, 0, len(t.Passes))
	for _, p := range t.Passes {
		q := Pass{Flow: p.FlowText, Lookups: []Lookup{}, Final: p.FinalText, Megaflow: p.Megaflow, DatapathActions: p.DatapathActions,
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

func (q *Pass) lookups(bridge string, nodes []*openflow.Node) {
	for _, n := range nodes {
		if n.Kind == openflow.NodeBridge {
			q.lookups(n.Bridge, n.Children)
			continue
		}
		if s := n.Step; s != nil {
			l := Lookup{Bridge: bridge, Table: s.Table, Found: s.Miss == openflow.Hit}
			if l.Found {
				l.Match, l.Priority, l.Cookie = s.MatchText, s.Priority, fmt.Sprintf("0x%x", s.Cookie)
			}
			q.Lookups = append(q.Lookups, l)
		}
		q.lookups(bridge, n.Children)
	}
}

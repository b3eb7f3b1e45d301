package ovssim

import "github.com/ovnctl/ovnctl/pkg/vswitch"

// Spanning trees: ovs-vswitchd.conf.db(5), "Spanning Tree Configuration" and "Rapid Spanning Tree Configuration".
const (
	etherTypeNone = 0x05ff // in OpenFlow, of a frame with a length in its place
	addrTree      = "01:80:c2:00:00:00"
)

// ownTree reports whether the packet is of a spanning tree: a frame with a length in place of a type.
func (x *translation) ownTree() bool { return x.isTo(addrTree) && x.packet.isTree() }

func (p *frame) isTree() bool {
	return p.number(ethType) == etherTypeNone && ethDst.Print(p.Get(ethDst)) == addrTree
}

// A treeState is what a spanning tree has a port do.
type treeState struct {
	forwards bool
	learns   bool
	answers  bool // it sends packets of the tree
}

// freeState is the state of a port without a spanning tree.
var freeState = treeState{forwards: true, learns: true, answers: true}

// newTreeState returns the state of a port in the tree of its bridge: "STP", "RSTP" or "". A port that takes no part in it, as an
// internal one, forwards.
func newTreeState(tree string, row *vswitch.Port) treeState {
	s := freeState
	switch state := row.Status["stp_state"]; {
	case tree == "STP" && state != "":
		s = treeState{state == "forwarding" || state == "disabled", state == "forwarding" || state == "learning", state != "blocking"}
	case tree == "RSTP":
		state = row.RSTPStatus["rstp_port_state"]
		s.answers = state != "" && state != "Disabled"
		s.forwards = !s.answers || state == "Forwarding"
		s.learns = s.forwards || state == "Learning"
	}
	return s
}

// receives reports whether a port lets the packet in, if only to learn from it.
func (x *translation) receives(p *port) bool {
	closed := p.noReceive
	if x.packet.isTree() {
		closed = p.noTree
	}
	return !closed && (p.tree.forwards || p.tree.learns)
}

// passesTree reports whether the spanning tree lets the packet out of a port.
func (x *translation) passesTree(p *port) bool {
	switch {
	case x.base.isTree():
		if !p.tree.answers {
			x.warn("%s", map[string]string{"STP": "STP not in listening state, skipping bpdu output", "RSTP": "RSTP not managing BPDU in this state, skipping bpdu output"}[x.bridge.tree])
		}
		return p.tree.answers
	case !p.tree.forwards:
		x.warn("%s not in forwarding state, skipping output", x.bridge.tree)
	}
	return p.tree.forwards
}

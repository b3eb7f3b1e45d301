package trace

import (
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// policed returns why the IPsec policies of a host's or workload's kernel stop a packet, in one of some directions. Assumed is
// set if what they do to it is not followed: they encrypt it, or the other end must have.
func policed(net *node.Network, p node.FilterPacket, directions ...string) (c journey.Cause, stops, assumed bool) {
	for _, direction := range directions {
		switch did, by := net.IPsec.Judge(direction, p); did {
		case node.IPsecBlocks:
			return journey.Cause{Kind: journey.IPsecBlocks, Detail: by.String()}, true, false
		case node.IPsecLacks:
			return journey.Cause{Kind: journey.IPsecLacks, Detail: by.String()}, true, false
		case node.IPsecEncrypts, node.IPsecUnsure:
			assumed = true
		}
	}
	return journey.Cause{}, false, assumed
}

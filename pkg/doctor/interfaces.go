package doctor

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// KernelDevice reports whether an interface stands for a device of the kernel.
func KernelDevice(i snapshot.BridgeInterface) bool { return i.Type == "" || i.Type == "system" }

// InterfacesCurrent reports whether the rows of Interface show the present. While ovs-vswitchd does not reply they are
// as it last wrote them, and the node is reported as unknown.
func (p *Pass) InterfacesCurrent(h *snapshot.Host) bool {
	d, err := h.Daemon("ovs-vswitchd")
	if err != nil || d.Liveness == snapshot.Answers {
		return true // in a capture the rows are as good as the rest
	}
	p.Unknown(NodeObject(h.Name), fmt.Errorf("ovs-vswitchd of %s %s: its interfaces are as it last wrote them; start it first", h.Name, d.Liveness))
	return false
}

package doctor

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// An Object is something a finding is about.
type Object struct {
	// Kind is a word of the field: "node", "bridge", "interface", "link", "file", "daemon",
	// "chassis", "switch", "router", "port" (logical), "load balancer", "ACL",
	// "port group", "MAC binding", "database", "tunnel", "zone", "route", "ct zone", "network" (provider),
	// "member" (of a cluster), "virtual IP", "address".
	Kind string `json:"kind"`
	Name string `json:"name"`           // as an operator can paste it
	Node string `json:"node,omitempty"` // its node, if it is on one
	// Row is its Northbound row, if names of its kind need not be unique; may be empty. It is not printed.
	Row ovsdb.UUID `json:"-"`
}

// named is the object without its row.
func (o Object) named() Object {
	o.Row = ""
	return o
}

// node returns the node that the object is or is on; empty if none.
func (o Object) node() string {
	if o.Kind == "node" {
		return o.Name
	}
	return o.Node
}

// String returns the object in words, "bridge br-ex on node1".
func (o Object) String() string {
	s := o.Kind + " " + o.Name
	if o.Node != "" && o.Kind != "node" {
		s += " on " + o.Node
	}
	return s
}

// The databases of OVN as a whole, wherever they are served.
var (
	NorthboundObject = DatabaseObject("OVN_Northbound")
	SouthboundObject = DatabaseObject("OVN_Southbound")
)

// DatabaseObject is a database as a whole, wherever it is served.
func DatabaseObject(name string) Object { return Object{Kind: "database", Name: name} }

// NodeObject is a node.
func NodeObject(name string) Object { return Object{Kind: "node", Name: name} }

// BridgeObject is a bridge of a node.
func BridgeObject(h *snapshot.Host, name string) Object {
	return Object{Kind: "bridge", Name: name, Node: h.Name}
}

// LinkObject is a kernel link of a node.
func LinkObject(h *snapshot.Host, name string) Object {
	return Object{Kind: "link", Name: name, Node: h.Name}
}

// DaemonObject is a daemon of a node.
func DaemonObject(h *snapshot.Host, daemon string) Object {
	return Object{Kind: "daemon", Name: daemon, Node: h.Name}
}

// InterfaceObject is an interface of a node.
func InterfaceObject(h *snapshot.Host, i snapshot.BridgeInterface) Object {
	return Object{Kind: "interface", Name: i.Name, Node: h.Name}
}

// PortObject is a logical port.
func PortObject(name string) Object { return Object{Kind: "port", Name: name} }

// AddressObject is an IP address, whoever should have it.
func AddressObject(a netip.Addr) Object { return Object{Kind: "address", Name: a.String()} }

// ChassisObject is a Chassis row; empty without a name.
func ChassisObject(name string) Object { return Object{Kind: "chassis", Name: name} }

// SwitchObject is a logical switch; empty if nil.
func SwitchObject(s *nb.LogicalSwitch) Object {
	if s == nil {
		return Object{}
	}
	return Object{Kind: "switch", Name: s.Name, Row: s.UUID}
}

// RouterObject is a logical router; empty if nil.
func RouterObject(r *nb.LogicalRouter) Object {
	if r == nil {
		return Object{}
	}
	return Object{Kind: "router", Name: r.Name, Row: r.UUID}
}

// LoadBalancerObject is a load balancer, which may have no name.
func LoadBalancerObject(lb *nb.LoadBalancer) Object {
	return Object{Kind: "load balancer", Name: cmp.Or(lb.Name, string(lb.UUID)), Row: lb.UUID}
}

// PortAndNode returns a logical port and the node it is bound to; an empty node is left out.
func PortAndNode(port, node string) []Object {
	also := []Object{PortObject(port)}
	if node != "" {
		also = append(also, NodeObject(node))
	}
	return also
}

// PortOfInterface returns the logical port in an interface's iface-id, if it has one.
func PortOfInterface(i snapshot.BridgeInterface) []Object {
	if id := i.ExternalIDs["iface-id"]; id != "" {
		return []Object{PortObject(id)}
	}
	return nil
}

// KernelDevice reports whether an interface stands for a device of the kernel.
func KernelDevice(i snapshot.BridgeInterface) bool { return i.Type == "" || i.Type == "system" }

// InterfacesCurrent reports whether Interface rows are current. If ovs-vswitchd does not reply they are outdated, and
// the node is reported as unknown.
func (p *Pass) InterfacesCurrent(h *snapshot.Host) bool {
	d, err := h.Daemon("ovs-vswitchd")
	if err != nil || d.Liveness == snapshot.Answers {
		return true // in a capture the rows are as current as the rest
	}
	p.Unknown(NodeObject(h.Name), fmt.Errorf("ovs-vswitchd of %s %s: its interfaces are as it last wrote them; start it first", h.Name, d.Liveness))
	return false
}

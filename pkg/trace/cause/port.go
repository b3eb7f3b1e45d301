package cause

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// neutrons reports whether Neutron manages an object.
func neutrons(ids map[string]string) bool {
	for key := range ids {
		if strings.HasPrefix(key, "neutron:") {
			return true
		}
	}
	return false
}

// portChanges returns the changes that let a packet pass a port.
func (e *Explainer) portChanges(ctx context.Context, s *stop) []change {
	switch s.kind {
	case journey.PortSecurity:
		return e.securityChanges(ctx, s)
	case journey.PortDisabled:
		c := remedy(s.by, "enable the port "+s.port.Name(), "ovn-nbctl lsp-set-enabled "+Shell(s.port.Name())+" enabled")
		switch row := s.by.Row.(type) {
		case nb.LogicalRouterPort:
			c.Command = "ovn-nbctl lrp-set-enabled " + Shell(s.port.Name()) + " enabled"
		case nb.LogicalSwitchPort:
			if neutrons(row.ExternalIDs) {
				c.Command = "openstack port set --enable " + Shell(s.port.Name())
			}
		}
		if s.flow != nil && strings.HasSuffix(s.stage(), "_port_sec") {
			c.try = without(s.flow)
		}
		return []change{c}
	case journey.UnknownMAC:
		return e.addressChanges(ctx, s)
	case journey.Unbound:
		return e.bindingChanges(ctx, s)
	}
	return nil
}

// securityChanges returns the changes that allow a port the addresses it uses.
func (e *Explainer) securityChanges(ctx context.Context, s *stop) []change {
	p := s.packet()
	t := trafficOf(&p)
	mac, ip := macOf(&p, "eth_dst"), t.dst
	if s.visit.Pipeline == logicalflow.Ingress {
		mac, ip = macOf(&p, "eth_src"), t.src
	}
	entry, name := mac, s.port.Name()
	if ip.IsValid() {
		entry += " " + ip.String()
	}
	row, _ := s.by.Row.(nb.LogicalSwitchPort)
	if neutrons(row.ExternalIDs) {
		pair := "mac-address=" + mac
		if ip.IsValid() {
			pair = "ip-address=" + ip.String() + "," + pair
		}
		c := remedy(s.by, fmt.Sprintf("port %s: add %s to its allowed address pairs", name, entry), "openstack port set --allowed-address "+pair+" "+Shell(name))
		c.try = without(s.flow)
		return []change{c}
	}
	c := remedy(s.by, fmt.Sprintf("port %s: let port security admit %s", name, entry),
		"ovn-nbctl lsp-set-port-security "+Shell(name)+" "+Shell(append(slices.Clone(row.PortSecurity), entry)...))
	if pod := podOf(s.by); pod != "" {
		c.Text = fmt.Sprintf("pod %s: use the addresses that it was given, %s", pod, strings.Join(s.port.Row.PortSecurity, ", "))
		c.Command = "" // the operator must not change this row
	}
	c.try = without(s.flow)
	return []change{c}
}

// addressChanges returns the changes that add the MAC address a switch looks for to the port with the IP address.
func (e *Explainer) addressChanges(ctx context.Context, s *stop) []change {
	p := s.packet()
	t, mac := trafficOf(&p), macOf(&p, "eth_dst")
	ports, err := s.visit.Datapath.Ports(ctx)
	if err != nil || !t.dst.IsValid() {
		return nil
	}
	for _, port := range ports {
		o := e.portObject(ctx, port)
		row, ok := o.Row.(nb.LogicalSwitchPort)
		addresses := slices.Clone(row.Addresses)
		i := slices.IndexFunc(addresses, func(a string) bool { return slices.Contains(strings.Fields(a), t.dst.String()) })
		if !ok || i < 0 {
			continue
		}
		_, ips, _ := strings.Cut(addresses[i], " ")
		addresses[i] = mac + " " + ips
		return []change{remedy(o, fmt.Sprintf("port %s has %s with another MAC address: give it %s", port.Name(), t.dst, mac),
			"ovn-nbctl lsp-set-addresses "+Shell(port.Name())+" "+Shell(addresses...))}
	}
	return []change{remedy(decode.Object{}, fmt.Sprintf("switch %s: a port with the addresses %s %s, or one that takes unknown addresses", s.visit.Datapath.Name, mac, t.dst), "")}
}

// bindingChanges returns the changes that bind a port to a chassis.
func (e *Explainer) bindingChanges(ctx context.Context, s *stop) []change {
	if s.port == nil {
		return nil
	}
	name, o := s.port.Name(), e.portObject(ctx, s.port)
	if c, ok := e.gatewayChange(ctx, s.port); ok {
		return []change{c}
	}
	row, _ := o.Row.(nb.LogicalSwitchPort)
	at := "a node"
	if wanted := row.Options["requested-chassis"]; wanted != "" {
		if node, elsewhere := e.carrier(name, wanted); elsewhere {
			return []change{remedy(o, fmt.Sprintf("port %s: its interface is on %s, but requested-chassis is %s", name, node, wanted),
				fmt.Sprintf("ovn-nbctl set Logical_Switch_Port %s %s", Shell(name), Shell("options:requested-chassis="+node)))}
		}
		at = wanted + ", where requested-chassis wants it"
	}
	if pod := podOf(o); pod != "" {
		return []change{remedy(o, fmt.Sprintf("pod %s: an interface on br-int of %s, with external_ids:iface-id=%s: its network plugin makes one with the pod", pod, at, name),
			fmt.Sprintf("kubectl -n %s describe pod %s", Shell(o.Owner.Namespace), Shell(o.Owner.Name)))}
	}
	return []change{remedy(o, fmt.Sprintf("port %s: an interface on br-int of %s, with external_ids:iface-id=%s", name, at, name),
		"ovs-vsctl find Interface "+Shell("external_ids:iface-id="+name))}
}

// carrier returns a node, other than the wanted one, with an interface for a port.
func (e *Explainer) carrier(port, wanted string) (string, bool) {
	p := e.graph.PortByName(port)
	if p == nil {
		return "", false
	}
	for _, at := range p.Interfaces {
		if at.Node != wanted {
			return at.Node, true
		}
	}
	return "", false
}

// gatewayChange returns the change that moves a gateway router, whose port was the target, to an existing chassis.
func (e *Explainer) gatewayChange(ctx context.Context, p *logicalflow.Port) (change, bool) {
	if p.Row.Type != "l3gateway" {
		return change{}, false
	}
	wanted := p.Row.Options["l3gateway-chassis"]
	if peer, err := p.Peer(ctx); err == nil && peer != nil && !p.Datapath.Router {
		p = peer
	}
	r := e.router(p.Datapath)
	if r == nil || e.net.ChassisByName(wanted) != nil {
		return change{}, false
	}
	o := routerObject(r.Name, p.Datapath.NBUUID)
	c := remedy(o, fmt.Sprintf("router %s: options:chassis is %s, which is no chassis", r.Name, wanted), "")
	for _, chassis := range e.graph.Chassis {
		if strings.HasSuffix(r.Name, "_"+chassis.Hostname) { // GR_node1
			c.Command = fmt.Sprintf("ovn-nbctl set Logical_Router %s options:chassis=%s", Shell(r.Name), Shell(chassis.Name))
		}
	}
	return c, true
}

// balancerChanges returns the changes that give a load balancer a backend.
func (e *Explainer) balancerChanges(s *stop) []change {
	p := s.packet()
	t := trafficOf(&p)
	vip := endpoint(t.dst, t.dstPort)
	row, _ := s.by.Row.(nb.LoadBalancer)
	if owner := s.by.Owner; owner.Kind == "Service" {
		return []change{remedy(s.by, fmt.Sprintf("%s: a ready pod that its selector matches", owner),
			fmt.Sprintf("kubectl -n %s describe service %s", Shell(owner.Namespace), Shell(owner.Name)))}
	}
	if neutrons(row.ExternalIDs) {
		return []change{remedy(s.by, fmt.Sprintf("load balancer %s: a member in the pool behind %s", row.Name, vip), "openstack loadbalancer status show "+Shell(row.Name))}
	}
	return []change{remedy(s.by, fmt.Sprintf("load balancer %s: backends for %s", row.Name, vip),
		fmt.Sprintf("ovn-nbctl --may-exist lb-add %s %s BACKENDS %s", Shell(row.Name), Shell(vip), t.protocol()))}
}

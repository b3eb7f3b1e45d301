package topology

import "strings"

// SenderTo returns the end by which a pod sends to another pod's port: its own bound port on that port's network if that is
// a secondary one, as its routes lead there, else from as it is.
func (g *Graph) SenderTo(from Match, to *Port) Match {
	if from.Port == nil || from.Port.Pod == "" || to == nil || to.Pod == "" || !g.isMain(from.Port) || g.isMain(to) {
		return from
	}
	for _, p := range g.portsOf(from.Port.Pod) {
		if p.Network() == to.Network() && p.Network() != defaultNetwork && p.Chassis != "" {
			return (&resolver{Graph: g}).port(p)
		}
	}
	return from
}

// ReceiverFrom returns the end that a pod means by text, the bare name of another pod, which was found to be to: the other's
// port on the sender's own network if it has one there. Pods of the default network know a pod of a user-defined one by its
// default address.
func (g *Graph) ReceiverFrom(from, to Match, text string) Match {
	if from.Port == nil || from.Port.Pod == "" || to.Port == nil || to.Port.Pod == "" || !g.namesPod(text, to.Port.Pod) {
		return to
	}
	if from.Port.Network() == to.Port.Network() {
		return to
	}
	for _, p := range g.portsOf(to.Port.Pod) {
		if p.Network() == from.Port.Network() {
			there := (&resolver{Graph: g}).port(p)
			there.L4Port = to.L4Port
			return there
		}
	}
	return to
}

// namesPod reports whether text is a pod's name, without a network, and not that of a port or an address.
func (g *Graph) namesPod(text, pod string) bool {
	name, _ := cutPort(text)
	if _, rest, ok := g.typed(name); ok && name != pod {
		name = rest
	}
	return name == pod || strings.HasSuffix(pod, "/"+name)
}

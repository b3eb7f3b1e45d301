package topology

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

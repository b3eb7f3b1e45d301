package ovn

// String is the reason in a few words, for people.
func (r Reason) String() string {
	return [...]string{
		ToPort: "to a port", ToNetwork: "to a physical network", ToZone: "to another zone", ToVTEP: "to a hardware gateway",
		NoFlow: "no flow matches", DropAction: "the flow drops", NoOutport: "no outport", SameOutport: "back to where it came from",
		NotBound: "the port is on no chassis", NoTunnel: "no tunnel", NotCarried: "no room in the tunnel's key",
		NotHere: "the port is not on this chassis", NoPeer: "no peer", EmptyGroup: "no port in the group",
		TTLExceeded: "time to live exceeded", Finished: "nothing more is done", Learning: "what is learned from is dropped", Refused: "refused", Answering: "answered by OVN",
		Resolving: "the next hop is asked for", Controller: "taken by ovn-controller", NotUnderstood: "a flow is not understood",
		Tie: "flows of one priority", Limit: "too long",
	}[r]
}

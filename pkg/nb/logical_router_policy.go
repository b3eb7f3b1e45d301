package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Policy is a row of Logical_Router_Policy, ovn-nb(5): a rule that overrides the routes.
type Policy struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Action      string                `ovsdb:"action"`       // allow, drop, reroute or jump
	BFDSessions ovsdb.Set[ovsdb.UUID] `ovsdb:"bfd_sessions"` // BFD
	Chain       ovsdb.Set[string]     `ovsdb:"chain"`
	JumpChain   ovsdb.Set[string]     `ovsdb:"jump_chain"`
	Match       string                `ovsdb:"match"`
	Nexthop     ovsdb.Set[string]     `ovsdb:"nexthop"` // of before 21.03, see nexthops
	Nexthops    ovsdb.Set[string]     `ovsdb:"nexthops"`
	OutputPort  ovsdb.Set[ovsdb.UUID] `ovsdb:"output_port"` // Logical_Router_Port
	Priority    int                   `ovsdb:"priority"`
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router_Policy.
func (Policy) Table() string { return "Logical_Router_Policy" }

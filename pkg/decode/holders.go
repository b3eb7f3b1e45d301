package decode

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// The tables whose rows hold others, with what they hold.
type (
	holdingGroup struct {
		Name        string                `ovsdb:"name"`
		ExternalIDs map[string]string     `ovsdb:"external_ids"`
		ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
	}
	holdingSwitch struct {
		Name        string                `ovsdb:"name"`
		ExternalIDs map[string]string     `ovsdb:"external_ids"`
		ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
		QoSRules    ovsdb.Set[ovsdb.UUID] `ovsdb:"qos_rules"`
		Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
	}
	holdingRouter struct {
		Name         string                `ovsdb:"name"`
		ExternalIDs  map[string]string     `ovsdb:"external_ids"`
		NAT          ovsdb.Set[ovsdb.UUID] `ovsdb:"nat"`
		Policies     ovsdb.Set[ovsdb.UUID] `ovsdb:"policies"`
		StaticRoutes ovsdb.Set[ovsdb.UUID] `ovsdb:"static_routes"`
		Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
	}
)

// Table returns Port_Group.
func (holdingGroup) Table() string { return "Port_Group" }

// Table returns Logical_Switch.
func (holdingSwitch) Table() string { return "Logical_Switch" }

// Table returns Logical_Router.
func (holdingRouter) Table() string { return "Logical_Router" }

// holders knows who holds a row, once it was asked so often that reading all of a
// table is less than another look into it: the server compares every row each
// time.
type holders struct {
	asked map[string]int
	held  map[string]map[ovsdb.UUID]named // by table and column
}

// named is who a holder is.
type named struct {
	name string
	ids  map[string]string
}

// fewLookups are as many as are worth a request each.
const fewLookups = 4

// find returns who holds a row in a column, empty if nobody does. It is not known
// as long as few were asked for.
func (h *holders) find(l lookup, table, column string, uuid ovsdb.UUID) (name string, ids map[string]string, known bool) {
	if h.held == nil {
		h.asked, h.held = map[string]int{}, map[string]map[ovsdb.UUID]named{}
	}
	members, known := h.held[table+" "+column]
	if !known {
		if h.asked[table]++; h.asked[table] <= fewLookups || !h.read(l, table) {
			return "", nil, false
		}
		members = h.held[table+" "+column]
		if members == nil { // nobody holds anything there
			h.held[table+" "+column] = map[ovsdb.UUID]named{}
		}
	}
	who := members[uuid]
	return who.name, who.ids, true
}

// read reads all of a table, and reports whether it could.
func (h *holders) read(l lookup, table string) bool {
	add := func(column string, members []ovsdb.UUID, who named) {
		key := table + " " + column
		if h.held[key] == nil {
			h.held[key] = map[ovsdb.UUID]named{}
		}
		for _, uuid := range members {
			h.held[key][uuid] = who
		}
	}
	var err error
	switch table {
	case "Port_Group":
		var rows []holdingGroup
		rows, err = ovsdb.Find[holdingGroup](l.ctx, l.reader)
		for _, r := range rows {
			add("acls", r.ACLs, named{r.Name, r.ExternalIDs})
		}
	case "Logical_Switch":
		var rows []holdingSwitch
		rows, err = ovsdb.Find[holdingSwitch](l.ctx, l.reader)
		for _, r := range rows {
			who := named{r.Name, r.ExternalIDs}
			add("acls", r.ACLs, who)
			add("qos_rules", r.QoSRules, who)
			add("ports", r.Ports, who)
		}
	case "Logical_Router":
		var rows []holdingRouter
		rows, err = ovsdb.Find[holdingRouter](l.ctx, l.reader)
		for _, r := range rows {
			who := named{r.Name, r.ExternalIDs}
			add("nat", r.NAT, who)
			add("policies", r.Policies, who)
			add("static_routes", r.StaticRoutes, who)
			add("ports", r.Ports, who)
		}
	default:
		return false
	}
	return err == nil
}

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

// holders knows who holds a row, once so many are asked for that reading all of a
// table is less than a look into it for each: the server compares every row each
// time.
type holders struct {
	asked map[string]int                  // rows, by table of their holders
	whole map[string]bool                 // the tables that were read
	held  map[string]map[ovsdb.UUID]named // by table and column
}

// named is who a holder is.
type named struct {
	name string
	ids  map[string]string
}

// fewLookups are as many as are worth a request each.
const fewLookups = 4

// find returns who holds a row in a column, empty if nobody does. It is unknown
// as long as few were expected.
func (h *holders) find(table, column string, uuid ovsdb.UUID) (name string, ids map[string]string, known bool) {
	who := h.held[table+" "+column][uuid]
	return who.name, who.ids, h.whole[table]
}

// expect says how many rows of each table will be asked for. It returns queries for
// the tables for which that is many, and what takes in their rows.
func (h *holders) expect(count map[string]int) (queries []*ovsdb.Query, take func()) {
	if h.held == nil {
		h.asked, h.whole, h.held = map[string]int{}, map[string]bool{}, map[string]map[ovsdb.UUID]named{}
	}
	var (
		groups   []holdingGroup
		switches []holdingSwitch
		routers  []holdingRouter
		tables   []string
	)
	for _, q := range []struct {
		table string
		rows  any
	}{{"Port_Group", &groups}, {"Logical_Switch", &switches}, {"Logical_Router", &routers}} {
		h.asked[q.table] += count[q.table]
		if h.asked[q.table] > fewLookups && !h.whole[q.table] {
			queries, tables = append(queries, &ovsdb.Query{Rows: q.rows}), append(tables, q.table)
		}
	}
	return queries, func() {
		for _, table := range tables {
			h.whole[table] = true
		}
		for _, r := range groups {
			h.hold("Port_Group acls", r.ACLs, named{r.Name, r.ExternalIDs})
		}
		for _, r := range switches {
			who := named{r.Name, r.ExternalIDs}
			h.hold("Logical_Switch acls", r.ACLs, who)
			h.hold("Logical_Switch qos_rules", r.QoSRules, who)
			h.hold("Logical_Switch ports", r.Ports, who)
		}
		for _, r := range routers {
			who := named{r.Name, r.ExternalIDs}
			h.hold("Logical_Router nat", r.NAT, who)
			h.hold("Logical_Router policies", r.Policies, who)
			h.hold("Logical_Router static_routes", r.StaticRoutes, who)
			h.hold("Logical_Router ports", r.Ports, who)
		}
	}
}

func (h *holders) hold(column string, members []ovsdb.UUID, who named) {
	if h.held[column] == nil {
		h.held[column] = map[ovsdb.UUID]named{}
	}
	for _, uuid := range members {
		h.held[column][uuid] = who
	}
}

package decode

import (
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// holders finds the holders of rows, once there are so many lookups that reading the whole table costs less: the
// server compares every row on each lookup.
type holders struct {
	asked map[string]int                  // rows, by table of their holders
	whole map[string]bool                 // the tables that were read
	held  map[string]map[ovsdb.UUID]named // by table and column; what was read
}

// named identifies a holder.
type named struct {
	name string
	ids  map[string]string
}

// fewLookups is how many lookups are worth a request each.
const fewLookups = 4

// find returns the holder of a row in a column, empty if there is none. known is false as long as few lookups were
// expected.
func (h *holders) find(table, column string, uuid ovsdb.UUID) (name string, ids map[string]string, known bool) {
	who := h.held[table+" "+column][uuid]
	return who.name, who.ids, h.whole[table]
}

// expect announces how many rows of each table will be looked up. It returns queries for the tables where that is
// many, and a function that stores their rows.
func (h *holders) expect(count map[string]int) (queries []*ovsdb.Query, take func()) {
	if h.held == nil {
		h.asked, h.whole, h.held = map[string]int{}, map[string]bool{}, map[string]map[ovsdb.UUID]named{}
	}
	var (
		groups   []nb.PortGroupContents
		switches []nb.LogicalSwitchContents
		routers  []nb.LogicalRouterContents
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

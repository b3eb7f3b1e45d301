package decode

import (
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A reference is a column in which rows of a table hold other rows.
type reference struct{ table, column string }

// The references that tell where a row belongs.
var (
	groupACLs      = reference{"Port_Group", "acls"}
	switchACLs     = reference{"Logical_Switch", "acls"}
	switchQoS      = reference{"Logical_Switch", "qos_rules"}
	portsOfSwitch  = reference{"Logical_Switch", "ports"}
	routerNAT      = reference{"Logical_Router", "nat"}
	routerPolicies = reference{"Logical_Router", "policies"}
	routerRoutes   = reference{"Logical_Router", "static_routes"}
	portsOfRouter  = reference{"Logical_Router", "ports"}
)

// holders finds the holders of rows: each by a condition, or, once there are so many lookups that this costs less, by reading the whole
// table, since the server compares every row on each lookup.
type holders struct {
	asked map[string]int                     // rows, by table of their holders
	whole map[string]bool                    // the tables that were read
	held  map[reference]map[ovsdb.UUID]named // what was read
}

// named identifies a holder.
type named struct {
	name string
	ids  map[string]string
}

// fewLookups is how many lookups are worth a condition each.
const fewLookups = 4

// of returns the holder of a row that was expected, empty if there is none.
func (h *holders) of(r reference, uuid ovsdb.UUID) named { return h.held[r][uuid] }

func (h *holders) onRouter(r reference, uuid ovsdb.UUID) (Holder, Owner) {
	router := h.of(r, uuid)
	return Holder{RouterHolder, router.name}, OwnerOf(router.ids)
}

func (h *holders) onSwitch(r reference, uuid ovsdb.UUID) (Holder, Owner) {
	sw := h.of(r, uuid)
	return Holder{SwitchHolder, sw.name}, OwnerOf(sw.ids)
}

// expect announces rows whose holders will be looked up. It returns the queries for those, and a function that stores the results.
func (h *holders) expect(reader ovsdb.Reader, places []place) (queries []*ovsdb.Query, take func()) {
	if h.held == nil {
		h.asked, h.whole, h.held = map[string]int{}, map[string]bool{}, map[reference]map[ovsdb.UUID]named{}
	}
	for _, p := range places {
		for _, r := range p.holders() {
			h.asked[r.table]++
		}
	}
	var (
		groups   []nb.PortGroupContents
		switches []nb.LogicalSwitchContents
		routers  []nb.LogicalRouterContents
		takes    []func()
	)
	for _, q := range []struct {
		table string
		rows  any
	}{{groupACLs.table, &groups}, {portsOfSwitch.table, &switches}, {portsOfRouter.table, &routers}} {
		if h.asked[q.table] > fewLookups && !h.whole[q.table] {
			queries = append(queries, &ovsdb.Query{Rows: q.rows})
			h.whole[q.table] = true
		}
	}
	for _, p := range places {
		for _, r := range p.holders() {
			if !h.whole[r.table] && reader.Has(r.table, r.column) {
				query, holder := r.query(p.uuid)
				queries = append(queries, query)
				takes = append(takes, func() { h.hold(r, []ovsdb.UUID{p.uuid}, holder()) })
			}
		}
	}
	return queries, func() {
		for _, take := range takes {
			take()
		}
		for _, r := range groups {
			h.hold(groupACLs, r.ACLs, named{r.Name, r.ExternalIDs})
		}
		for _, r := range switches {
			who := named{r.Name, r.ExternalIDs}
			h.hold(switchACLs, r.ACLs, who)
			h.hold(switchQoS, r.QoSRules, who)
			h.hold(portsOfSwitch, r.Ports, who)
		}
		for _, r := range routers {
			who := named{r.Name, r.ExternalIDs}
			h.hold(routerNAT, r.NAT, who)
			h.hold(routerPolicies, r.Policies, who)
			h.hold(routerRoutes, r.StaticRoutes, who)
			h.hold(portsOfRouter, r.Ports, who)
		}
	}
}

func (h *holders) hold(r reference, members []ovsdb.UUID, who named) {
	if h.held[r] == nil {
		h.held[r] = map[ovsdb.UUID]named{}
	}
	for _, uuid := range members {
		h.held[r][uuid] = who
	}
}

// query asks for the holder of one row.
func (r reference) query(uuid ovsdb.UUID) (*ovsdb.Query, func() named) {
	switch r.table {
	case groupACLs.table:
		return queryHolder[nb.PortGroup](r.column, uuid)
	case portsOfSwitch.table:
		return queryHolder[nb.LogicalSwitch](r.column, uuid)
	}
	return queryHolder[nb.LogicalRouter](r.column, uuid)
}

func queryHolder[T ovsdb.Row](column string, uuid ovsdb.UUID) (*ovsdb.Query, func() named) {
	var rows []holder[T]
	return &ovsdb.Query{Rows: &rows, Where: []ovsdb.Condition{ovsdb.Where(column, "includes", uuid)}}, func() named {
		if len(rows) == 0 {
			return named{}
		}
		return named{rows[0].Name, rows[0].ExternalIDs}
	}
}

// holder is a row of T's table, reduced to the columns that identify it.
type holder[T ovsdb.Row] struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns T's table.
func (holder[T]) Table() string { var row T; return row.Table() }

//go:build lab

package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A southTable is a table of the Southbound whose rows a repair may touch. Most rows there are made anew under another
// UUID whenever what they are derived from comes back: they are told apart by key.
type southTable struct {
	name    string
	key     []string // columns that tell its rows apart
	columns []string // beside them, those that do not change by themselves
	learned bool     // rows come by themselves: one that is new is no difference
}

var southTables = []southTable{
	{name: "Chassis", key: []string{"name"}, columns: []string{"hostname", "transport_zones", "vtep_logical_switches"}},
	{name: "Chassis_Private", key: []string{"name"}},
	{name: "Encap", key: []string{"chassis_name", "type", "ip"}, columns: []string{"options"}},
	{name: "Port_Binding", key: []string{"logical_port"}, columns: []string{"type", "mac", "nat_addresses", "parent_port", "tag"}},
	{name: "Gateway_Chassis", key: []string{"name"}, columns: []string{"priority"}},
	{name: "HA_Chassis_Group", key: []string{"name"}},
	{name: "Static_MAC_Binding", key: []string{"logical_port", "ip"}, columns: []string{"mac", "override_dynamic_mac"}},
	{name: "Connection", key: []string{"target"}, columns: []string{"max_backoff", "inactivity_probe", "role", "read_only", "other_config"}},
	{name: "MAC_Binding", key: []string{"logical_port", "ip"}, columns: []string{"mac"}, learned: true},
	{name: "FDB", key: []string{"mac", "dp_key"}, columns: []string{"port_key"}, learned: true},
}

// learned begins the keys of a state's rows that come by themselves.
const learned = "learned "

// southbound adds the rows of the Southbound, all read in one transaction.
func (s *scene) southbound(out map[string]string) {
	s.Helper()
	tables := slices.Clone(southTables)
	var results []struct {
		Error string
		Rows  []map[string]json.RawMessage
	}
	for {
		transaction := []any{"OVN_Southbound"}
		for _, t := range tables {
			transaction = append(transaction, map[string]any{"op": "select", "table": t.name, "where": []any{}})
		}
		question, err := json.Marshal(transaction)
		if err != nil {
			s.Fatal(err)
		}
		text, err := s.Lab.Run(s.ctx, s.fault.on, s.databaseClient("transact", s.SB(), string(question))...)
		if err != nil {
			out["OVN_Southbound"] = "cannot be read"
			return
		}
		results = nil
		if err := json.Unmarshal([]byte(text), &results); err != nil || len(results) < len(tables) {
			s.Fatalf("the Southbound answers %v: %.300s", err, text)
		}
		unknown := -1
		for i, r := range results {
			if r.Error != "" {
				unknown = i
			}
		}
		if unknown < 0 {
			break
		}
		tables = slices.Delete(tables, unknown, unknown+1) // this release lacks it
	}
	for i, t := range tables {
		for _, row := range results[i].Rows {
			name := "OVN_Southbound " + t.name + " " + cells(row, t.key)
			if t.learned {
				name = learned + name
			}
			out[name] = cells(row, t.columns)
		}
	}
}

// databaseClient is a command of ovsdb-client that any database of the lab lets in.
func (s *scene) databaseClient(args ...string) []string {
	client := []string{"ovsdb-client", "--timeout=10"}
	if s.TLS {
		key, cert, ca := s.Keys("client")
		client = append(client, "-p", key, "-c", cert, "-C", ca)
	}
	return append(client, args...)
}

// cells are columns of a row as text; those that a release lacks are left out.
func cells(row map[string]json.RawMessage, columns []string) string {
	var words []string
	for _, c := range columns {
		if v, ok := row[c]; ok {
			words = append(words, fmt.Sprintf("%s=%s", c, v))
		}
	}
	return strings.Join(words, " ")
}

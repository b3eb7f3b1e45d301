package logicalflow

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// hasTemplate reports whether a flow differs by chassis.
func hasTemplate(row *sb.LogicalFlow) bool {
	return strings.Contains(row.Match, "^") || strings.Contains(row.Actions, "^")
}

// onChassis returns an entry's flow with a chassis's variable values.
func (n *Network) onChassis(ctx context.Context, e *entry, c *Chassis) (*Flow, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.onChassis[c.Row.Name]; f != nil {
		return f, nil
	}
	values, err := n.variables(ctx, c)
	if err != nil {
		return nil, err
	}
	value := func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
	row := e.flow.Load().Row
	row.Match, row.Actions = ovnexpr.Expand(row.Match, value), ovnexpr.Expand(row.Actions, value)
	f := n.compile(row, e.conntrack)
	if e.onChassis == nil {
		e.onChassis = map[string]*Flow{}
	}
	e.onChassis[c.Row.Name] = f
	return f, nil
}

// variables returns a chassis's template variable values.
func (n *Network) variables(ctx context.Context, c *Chassis) (map[string]string, error) {
	return recall(&n.memory.variables, c.Row.Name, func() (map[string]string, error) {
		values := map[string]string{}
		if !n.db.Has("Chassis_Template_Var", "") {
			return values, nil
		}
		rows, err := ovsdb.Find[sb.ChassisTemplateVar](ctx, n.db, ovsdb.Where("chassis", "==", c.Row.Name))
		for _, row := range rows {
			for name, v := range row.Variables {
				values[name] = v
			}
		}
		return values, err
	})
}

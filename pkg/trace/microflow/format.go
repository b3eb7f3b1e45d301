package microflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// place returns a table's place in its datapath.
func place(at logicalflow.Table) ovnexpr.Place {
	return ovnexpr.Place{Pipeline: at.Pipeline, Table: at.ID}
}

// target returns the table where next continues.
func target(a *ovnexpr.Next, at logicalflow.Table) logicalflow.Table {
	to := a.Target(place(at))
	at.Pipeline, at.ID = to.Pipeline, to.Table
	return at
}

// hex returns a number as OVS writes the value of a sub-field.
func hex(v packet.Value) string { return "0x" + strings.TrimPrefix(v.Hex(), "0x") }

// value returns the value of a whole field.
func value(f *packet.Field, v packet.Value) string {
	if f.Format == packet.Hex {
		return hex(v)
	}
	return f.Print(v)
}

package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ChassisTemplateVar is a row of Chassis_Template_Var, ovn-sb(5): values that differ by chassis.
type ChassisTemplateVar struct {
	UUID      ovsdb.UUID        `ovsdb:"_uuid"`
	Chassis   string            `ovsdb:"chassis"`
	Variables map[string]string `ovsdb:"variables"`
}

// Table returns Chassis_Template_Var.
func (ChassisTemplateVar) Table() string { return "Chassis_Template_Var" }

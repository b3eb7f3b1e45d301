package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ACL is a row of ACL, ovn-nb(5): a rule that allows or denies traffic.
type ACL struct {
	ACLBrief
	Label                int                   `ovsdb:"label"` // 0 if none
	Log                  bool                  `ovsdb:"log"`
	Meter                ovsdb.Set[string]     `ovsdb:"meter"`
	NetworkFunctionGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function_group,sparse"` // Network_Function_Group
	SampleEst            ovsdb.Set[ovsdb.UUID] `ovsdb:"sample_est,sparse"`             // Sample
	SampleNew            ovsdb.Set[ovsdb.UUID] `ovsdb:"sample_new,sparse"`             // Sample
	Severity             ovsdb.Set[string]     `ovsdb:"severity,sparse"`
}

// ACLBrief is a row of ACL with the columns that checks and repairs use.
type ACLBrief struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        ovsdb.Set[string] `ovsdb:"name"`
	Action      string            `ovsdb:"action"`
	Direction   string            `ovsdb:"direction"` // from-lport or to-lport
	Match       string            `ovsdb:"match"`
	Priority    int               `ovsdb:"priority"` // 0 to 32767; northd adds 1000
	Tier        int               `ovsdb:"tier"`     // newer than OVN 23.03
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

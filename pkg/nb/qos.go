package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// QoS is a row of QoS, ovn-nb(5): marks and limits on the traffic of a switch.
type QoS struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Action      map[string]int    `ovsdb:"action"`
	Bandwidth   map[string]int    `ovsdb:"bandwidth"`
	Direction   string            `ovsdb:"direction"`
	Match       string            `ovsdb:"match"`
	Priority    int               `ovsdb:"priority"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

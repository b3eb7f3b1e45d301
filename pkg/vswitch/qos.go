package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// QoS is a row of QoS, ovs-vswitchd.conf.db(5): shaping of what a port sends.
type QoS struct {
	UUID        ovsdb.UUID         `ovsdb:"_uuid"`
	Type        string             `ovsdb:"type"`
	Queues      map[int]ovsdb.UUID `ovsdb:"queues"` // Queue
	OtherConfig map[string]string  `ovsdb:"other_config"`
	ExternalIDs map[string]string  `ovsdb:"external_ids"`
}

// Table returns QoS.
func (QoS) Table() string { return "QoS" }

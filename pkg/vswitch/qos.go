package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// QoS is a row of QoS, ovs-vswitchd.conf.db(5): shaping of a port's egress traffic.
type QoS struct {
	UUID        ovsdb.UUID         `ovsdb:"_uuid"`
	Type        string             `ovsdb:"type"`
	Queues      map[int]ovsdb.UUID `ovsdb:"queues"` // Queue
	OtherConfig map[string]string  `ovsdb:"other_config"`
	ExternalIDs map[string]string  `ovsdb:"external_ids"`
}

// Queue is a row of Queue, ovs-vswitchd.conf.db(5): a queue of a QoS.
type Queue struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Dscp        ovsdb.Set[int]    `ovsdb:"dscp"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

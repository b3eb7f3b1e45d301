package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Queue is a row of Queue, ovs-vswitchd.conf.db(5): a queue of a QoS.
type Queue struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Dscp        ovsdb.Set[int]    `ovsdb:"dscp"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Queue.
func (Queue) Table() string { return "Queue" }

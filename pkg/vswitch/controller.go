package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Controller is a row of Controller, ovs-vswitchd.conf.db(5): an OpenFlow controller of a bridge.
type Controller struct {
	UUID                 ovsdb.UUID        `ovsdb:"_uuid"`
	Type                 ovsdb.Set[string] `ovsdb:"type"`
	Target               string            `ovsdb:"target"`
	ConnectionMode       ovsdb.Set[string] `ovsdb:"connection_mode"`
	ControllerBurstLimit ovsdb.Set[int]    `ovsdb:"controller_burst_limit"`
	ControllerQueueSize  ovsdb.Set[int]    `ovsdb:"controller_queue_size"`
	ControllerRateLimit  ovsdb.Set[int]    `ovsdb:"controller_rate_limit"`
	EnableAsyncMessages  ovsdb.Set[bool]   `ovsdb:"enable_async_messages"`
	InactivityProbe      ovsdb.Set[int]    `ovsdb:"inactivity_probe"`
	IsConnected          bool              `ovsdb:"is_connected"` // not in files
	LocalGateway         ovsdb.Set[string] `ovsdb:"local_gateway"`
	LocalIP              ovsdb.Set[string] `ovsdb:"local_ip"`
	LocalNetmask         ovsdb.Set[string] `ovsdb:"local_netmask"`
	MaxBackoff           ovsdb.Set[int]    `ovsdb:"max_backoff"`
	Role                 ovsdb.Set[string] `ovsdb:"role"`
	Status               map[string]string `ovsdb:"status"` // not in files
	OtherConfig          map[string]string `ovsdb:"other_config"`
	ExternalIDs          map[string]string `ovsdb:"external_ids"`
}

// Table returns Controller.
func (Controller) Table() string { return "Controller" }

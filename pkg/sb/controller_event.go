package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ControllerEvent is a row of Controller_Event, ovn-sb(5): something that a chassis tells the
// management system.
type ControllerEvent struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Chassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis
	EventInfo map[string]string     `ovsdb:"event_info"`
	EventType string                `ovsdb:"event_type"`
	SeqNum    int                   `ovsdb:"seq_num"`
}

// Table returns Controller_Event.
func (ControllerEvent) Table() string { return "Controller_Event" }

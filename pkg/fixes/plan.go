package fixes

import (
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Plan is what a repair will do, in this order.
type Plan struct {
	Title string // "add the uplink eth0 to bridge br-ex"
	// Host is the host that is changed, by name; empty: databases alone.
	Host  string
	Steps []Step
	// Touches is what traffic it touches, a sentence without period.
	Touches string
	// Warnings: who will overwrite it, what will bring the fault back.
	Warnings []string
	// NoUndo is why it is not to be undone although its steps could be: what it
	// takes away comes again by itself.
	NoUndo string
	// Cuts: it can cut the operator off, and runs under the watchdog.
	Cuts bool
}

// A Step is one change. The steps are Rows, File, Network, Sysctl, Service,
// Control, Await, Module and Offload.
type Step interface {
	// String is what it changes, in a line.
	String() string
	// Diff is what it changes in full: lines that begin with "-" or "+".
	Diff() []string
	// Commands are the classic commands that do the same.
	Commands() []string
	// OneWay is why it cannot be undone; empty: it can.
	OneWay() string
}

// Rows changes rows of one database in one transaction. It is guarded: unless
// all rows are as in Before, and as in Guards, nothing happens.
type Rows struct {
	DB      string // OVN_Northbound, OVN_Southbound or Open_vSwitch
	Zone    string
	Changes []Change
	Guards  []Guard // on rows that do not change
	What    string  // "delete the stale MAC binding of 10.0.0.1"
	Classic []string

	Chosen bool // the UUIDs of new rows are ovnctl's own choice, not the server's
}

// A Change is one row. Without Before it is inserted, without After deleted.
type Change struct {
	Table  string
	UUID   ovsdb.UUID // of an inserted row: Named, for the others to refer to, or empty
	Before Row        // the columns that change, as they were; of a deleted row all of them
	After  Row
	In     []Ref // who refers to a row that is inserted or deleted
}

// A Row holds values of columns as pkg/ovsdb takes them: string, int, bool,
// float64, ovsdb.UUID, or slices and maps of these. Of a column that is a map,
// COLUMN:KEY is the value of one key, and nil that it has none; so the other keys
// may change meanwhile.
type Row map[string]any

// A Ref is a column of a row that holds the UUIDs of others.
type Ref struct {
	Table  string
	UUID   ovsdb.UUID
	Column string
}

// A Guard is a row that must be so, or with nil Columns must be there.
type Guard struct {
	Table   string
	UUID    ovsdb.UUID
	Columns Row
}

// File changes a file of the host: atomically, keeping its mode and owner.
type File struct {
	Path   string // of the host
	Before []byte // nil: there is none
	After  []byte // nil: it goes
	What   string

	held *patch // in place of Before and After, once it is in the journal
}

// Sysctl sets a kernel setting of the host until it boots again.
type Sysctl struct {
	Name   string // "net/ipv4/ip_forward"
	Before string
	After  string
}

// Service starts a daemon, or starts it again: by systemd where it is PID 1, else
// by the package's own ovs-ctl(8) or ovn-ctl(8). A daemon in a container is left
// to whoever runs the container.
type Service struct {
	Daemon string // "ovs-vswitchd", "ovn-controller", "ovn-northd"; of Unmask any unit
	Action string // Start, Restart, Replace or Unmask

	// What it was before, filled in when the step is carried out.
	PID   int
	Since string   // when the process started
	Had   []string // its command line
	Env   []string // what of its environment says where its files are
}

// Control sends a control command to a daemon.
type Control struct {
	Daemon  string
	Command string
	Args    []string
	What    string
	Undo    []string // the command and its arguments that take it back; none: it is one-way
	Why     string   // why it is one-way
	Over    string   // what the daemon refuses it with when it was carried out before, for who carries on with a run that was cut off
}

// Await waits until something holds that an earlier step brings about.
type Await struct {
	What string // "the chassis has caught up"
	// Chassis has caught up with the Southbound, by Chassis_Private.nb_cfg.
	Chassis string
	Zone    string
}

// Module loads kernel modules.
type Module struct {
	Names []string
}

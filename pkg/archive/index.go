package archive

import (
	"slices"
	"time"
)

// IndexFile is the name of the index in a capture.
const IndexFile = "index.json"

// An Index says what a capture holds, what it lacks and why.
type Index struct {
	APIVersion string    `json:"apiVersion"` // "ovnctl/v1"
	Kind       string    `json:"kind"`       // "Capture"
	Version    string    `json:"version"`    // of the ovnctl that wrote it
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"` // zero: not finished
	Redacted   bool      `json:"redacted"`       // names, addresses and UUIDs are replaced
	// Apart says that the databases changed after the nodes were read: it is a moment of a record.
	Apart bool `json:"apart,omitempty"`

	Nodes     []IndexNode     `json:"nodes"`
	Databases []IndexDatabase `json:"databases"`
	Files     []IndexEntry    `json:"files"`  // in the order read
	Failed    []IndexFailure  `json:"failed"` // what could not be read
	Notes     []string        `json:"notes"`
}

// An IndexNode is a host and its directory.
type IndexNode struct {
	Name     string `json:"name"` // as in commands
	SystemID string `json:"systemID,omitempty"`
	Dir      string `json:"dir,omitempty"`     // empty: it could not be reached
	Local    bool   `json:"local,omitempty"`   // ovnctl ran on it
	Central  bool   `json:"central,omitempty"` // it runs OVN's databases and no Open vSwitch
	Inactive bool   `json:"asleep,omitempty"`  // of a central: its Open vSwitch does not run
}

// An IndexDatabase is a Northbound or Southbound.
type IndexDatabase struct {
	Name   string    `json:"name"`           // "OVN_Southbound"
	Zone   string    `json:"zone,omitempty"` // NB_Global.name of its zone
	File   string    `json:"file"`
	Origin string    `json:"origin"` // the remote it was read from
	Time   time.Time `json:"time"`
	// LogicalFlows is which are there: "all", "local", "none", or "part" if reading ended early.
	LogicalFlows string `json:"logicalFlows,omitempty"`
	// Datapaths are the datapaths and groups whose flows are there, for "local".
	Datapaths []string `json:"datapaths,omitempty"`
	// Pieces is how many requests read the rows.
	Pieces int `json:"pieces,omitempty"`
	// Snapshot reports whether all rows are from one moment, Time: rows that changed while being read were read
	// again, until none had. Otherwise they are from different moments: ovn-northd may have worked in between, as
	// NBCfg shows.
	Snapshot bool `json:"snapshot"`
	Rows     int  `json:"rows,omitempty"` // of Logical_Flow
	// NBCfg is SB_Global.nb_cfg before and after the logical flows.
	NBCfg []int `json:"nbCfg,omitempty"`
	// Longest is how long the slowest request took, in milliseconds.
	Longest int `json:"longest,omitempty"`
}

// An IndexEntry is a file of a capture.
type IndexEntry struct {
	Name   string    `json:"name"`
	What   string    `json:"what"` // what it is, in words
	Node   string    `json:"node,omitempty"`
	Size   int       `json:"size"` // in bytes
	SHA256 string    `json:"sha256"`
	Time   time.Time `json:"time"` // when it was read
}

// An IndexFailure is what could not be read.
type IndexFailure struct {
	Node string    `json:"node,omitempty"`
	What string    `json:"what"`
	Why  string    `json:"why"`
	Time time.Time `json:"time"`
}

// Unread returns what makes a capture less than was asked for: databases, and all that was left out for its size or time. What
// one node did not reply to is not among it.
func (x *Index) Unread() []IndexFailure {
	return slices.DeleteFunc(slices.Clone(x.Failed), func(f IndexFailure) bool { return f.Node != "" && f.Why != ErrFull.Error() })
}

package archive

import "time"

// IndexFile is the name of the index in a capture.
const IndexFile = "index.json"

// An Index says what a capture holds, what it lacks and why.
type Index struct {
	APIVersion string    `json:"apiVersion"` // "ovnctl/v1"
	Kind       string    `json:"kind"`       // "Capture"
	Version    string    `json:"version"`    // of the ovnctl that wrote it
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"` // zero: it was not finished
	Redacted   bool      `json:"redacted"`       // addresses, names and external_ids are others

	Nodes     []IndexNode     `json:"nodes"`
	Databases []IndexDatabase `json:"databases"`
	Files     []IndexEntry    `json:"files"`  // in the order in which they were read
	Failed    []IndexFailure  `json:"failed"` // what was asked and could not be read
	Notes     []string        `json:"notes"`
}

// An IndexNode is a host, with its directory.
type IndexNode struct {
	Name     string `json:"name"` // as commands call it
	SystemID string `json:"systemID,omitempty"`
	Dir      string `json:"dir,omitempty"`     // empty: there was no way to it
	Local    bool   `json:"local,omitempty"`   // ovnctl ran on it
	Central  bool   `json:"central,omitempty"` // it runs OVN's databases and no Open vSwitch
	Inactive bool   `json:"asleep,omitempty"`  // of a central: it has an Open vSwitch of which nothing runs
}

// An IndexDatabase is a Northbound or Southbound.
type IndexDatabase struct {
	Name   string    `json:"name"`           // "OVN_Southbound"
	Zone   string    `json:"zone,omitempty"` // NB_Global.name of its zone
	File   string    `json:"file"`
	Origin string    `json:"origin"` // the remote that it was read from
	Time   time.Time `json:"time"`
	// LogicalFlows says which of them are there: "all", "local", "none", or "part"
	// when reading them ended early.
	LogicalFlows string `json:"logicalFlows,omitempty"`
	// Datapaths are those whose flows are there, and groups of them; of "local".
	Datapaths []string `json:"datapaths,omitempty"`
	// Pieces is in how many requests the rows were read.
	Pieces int `json:"pieces,omitempty"`
	// Snapshot says that all rows are as they were at one moment, Time: what had changed
	// while they were read was read again, and nothing else had by then. Otherwise they are
	// of different moments: ovn-northd may have worked in between, as NBCfg tells.
	Snapshot bool `json:"snapshot"`
	Rows     int  `json:"rows,omitempty"` // of Logical_Flow
	// NBCfg is SB_Global.nb_cfg before and after the logical flows.
	NBCfg []int `json:"nbCfg,omitempty"`
	// Longest is how long the slowest of these requests took, in milliseconds.
	Longest int `json:"longest,omitempty"`
}

// An IndexEntry is a file of a capture.
type IndexEntry struct {
	Name   string    `json:"name"`
	What   string    `json:"what"` // which answer it is, in words
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

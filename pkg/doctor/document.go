package doctor

import (
	"time"

	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Document is the JSON and YAML form of what the checks found.
type Document struct {
	document.Envelope
	Report
	// Commands are the classic commands that show the same, with --show-commands.
	Commands []string    `json:"commands,omitempty"`
	Fixes    []fixes.Fix `json:"fixes,omitempty"` // what --fix did before this report
	// Stats is what was read, with --stats.
	Stats *Stats `json:"stats,omitzero"`
}

// DoctorStats are how long a report took.
type Stats struct {
	Took  time.Duration   `json:"took"`  // from the first read to the last check, in nanoseconds
	Reads []snapshot.Read `json:"reads"` // the slowest first
}

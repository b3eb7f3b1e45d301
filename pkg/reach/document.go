package reach

import (
	"github.com/ovnctl/ovnctl/pkg/document"
)

// A Document is the JSON and YAML form of who can talk to whom. The pairs come last in it, one a line.
type Document struct {
	document.Envelope
	*Result
	Pairs []Pair `json:"pairs"` // what is printed comes from Result.Pairs
}

package journey

import (
	"github.com/ovnctl/ovnctl/pkg/document"
)

// A Document is the JSON and YAML form of a trace.
type Document struct {
	document.Envelope
	*Trace
}

package flowtable

import (
	"github.com/ovnctl/ovnctl/pkg/document"
)

// A FlowsDocument is the JSON and YAML form of the flows of a bridge.
type FlowsDocument struct {
	document.Envelope
	FlowTable
}

// A MegaflowsDocument is the JSON and YAML form of the datapath's cache.
type MegaflowsDocument struct {
	document.Envelope
	Cache
}

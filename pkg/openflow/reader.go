package openflow

// A Reader reads the lines of a dump.
type Reader struct{}

// FlowEntry reads a line as ParseFlowEntry does.
func (r *Reader) FlowEntry(line string) (FlowEntry, error) { return ParseFlowEntry(line) }

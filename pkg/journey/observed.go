package journey

// Observed is whether real packets did what a trace expects.
type Observed string

// What watching the flows on a path can show.
const (
	Confirmed Observed = "confirmed" // packets came as far as the verdict says, and no further
	Refuted   Observed = "refuted"   // they did not come as far
	Idle      Observed = "idle"      // none were sent
	Unwatched Observed = "unknown"   // the counters could not be read
)

// An Observation is what the counters of the flows on a path showed while they were watched. A flow counts all packets that
// hit it: no count says that none came, a count says that some may have.
type Observation struct {
	Result   Observed `json:"result"`
	Sentence string   `json:"sentence"`
	Seconds  float64  `json:"seconds"` // between the two samples
	// Packets is how many packets can have come to where they were seen last: what the flow before it that
	// counted the fewest did.
	Packets uint64 `json:"packets"`
	// Reply says that they were seen last, or expected, on the path of the reply.
	Reply bool `json:"reply"`
	// Node, Datapath and Stage are where packets were seen last; empty where none were.
	Node     string `json:"node"`
	Datapath string `json:"datapath"`
	Stage    string `json:"stage"`
	Next     string `json:"next"` // the command to run next, filled in; empty where there is nothing to ask
}

// A Counter is what a flow, or those that the packets of one connection meet in a table, counted while they were watched.
type Counter struct {
	Packets uint64 `json:"packets"`
	// First says that only the first packet of a connection meets the flow: later ones go past it.
	First bool `json:"first"`
	// Lost says that packets came to the node before, and none to this flow.
	Lost bool `json:"lost"`
}

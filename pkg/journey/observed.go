package journey

// Observed is whether real packets behaved as a trace predicts.
type Observed string

// Results of watching the flows on a path.
const (
	Confirmed Observed = "confirmed" // packets came as far as the verdict says, and no further
	Refuted   Observed = "refuted"   // they did not come as far
	Idle      Observed = "idle"      // none were sent
	Unwatched Observed = "unknown"   // the counters could not be read
)

// An Observation is what the counters of the flows on a path showed while they were watched. A flow counts all packets
// that hit it: no count proves that none came, a count only that some may have.
type Observation struct {
	Result   Observed `json:"result"`
	Sentence string   `json:"sentence"`
	Seconds  float64  `json:"seconds"` // between the two samples
	// Packets is how many packets can have reached the point where they were last seen: the lowest count of the flows
	// up to there.
	Packets uint64 `json:"packets"`
	// Reply is set if they were last seen, or expected, on the path of the reply.
	Reply bool `json:"reply"`
	// Node, Datapath and Stage are where packets were last seen; empty if nowhere.
	Node     string `json:"node"`
	Datapath string `json:"datapath"`
	Stage    string `json:"stage"`
	Next     string `json:"next"` // the command to run next, filled in; empty if there is none
}

// A Counter is what a flow, or all flows that a connection's packets hit in a table, counted while they were watched.
type Counter struct {
	Packets uint64 `json:"packets"`
	// First is set if only a connection's first packet hits the flow: later ones bypass it.
	First bool `json:"first"`
	// Lost is set if packets came to the node before, and none to this flow.
	Lost bool `json:"lost"`
}

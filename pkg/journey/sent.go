package journey

// SentResult is what became of a packet that was sent.
type SentResult string

// Values of SentResult.
const (
	Answered SentResult = "answered" // the destination received it, and its reply came back
	Refused  SentResult = "refused"  // an error came back instead: a reset or an ICMP message
	Lost     SentResult = "lost"     // the packet or its reply did not come through
	NotSent  SentResult = "not-sent" // the sender's kernel refused to send it
	Unsent   SentResult = "unknown"  // it could not be sent or watched from here
)

// Sent is what became of real packets, sent to test a trace. With several packets it is about all of them: a place
// counts each once.
type Sent struct {
	Result   SentResult `json:"result"`
	Sentence string     `json:"sentence"`
	Packet   string     `json:"packet"` // "icmp 10.244.1.6 → 10.244.2.5, 84 bytes"
	Count    int        `json:"count"`
	Size     int        `json:"size"` // in bytes, from the IP header on
	// PathMTU is the size of the largest packet that came through, in bytes from the IP header on; 0 if that was not asked for.
	PathMTU int `json:"pathMTU,omitempty"`
	// Mark is the three bytes by which a packet is recognized, in hexadecimal.
	Mark string `json:"mark"`
	// Injected is set if the bridge put the packet out at the sender's port, since the sender's own network cannot be entered.
	Injected bool `json:"injected,omitempty"`
	// Agrees is set if the trace's verdict says the same.
	Agrees bool `json:"agrees"`
	// Places are where the packet and its reply can be seen, in the order of the path.
	Places []Watchpoint `json:"places"`
	// Last is the index in Places of the last at which the packet or its reply was seen; -1 if none.
	Last int `json:"last"`
	// Missing is the index of the first place after Last that was watched; -1 if none.
	Missing int `json:"missing"`
	// Between is what lies between the two, in words; empty if nothing is missing.
	Between string `json:"between"`
}

// WatchpointKind is the kind of a place where a packet can be seen.
type WatchpointKind string

// Values of WatchpointKind.
const (
	AtWorkload WatchpointKind = "workload" // the interface of a pod, in its own network namespace
	AtPort     WatchpointKind = "port"     // the interface of a logical port on its node
	AtHost     WatchpointKind = "host"     // an interface of the node itself
	AtUplink   WatchpointKind = "uplink"
	AtTunnel   WatchpointKind = "tunnel" // encapsulated, on any link
	AtKernel   WatchpointKind = "kernel" // past the packet filter of a node or pod, where its kernel delivers to sockets
)

// A Watchpoint is a place where a packet can be seen, and how many were.
type Watchpoint struct {
	Node  string         `json:"node"`
	Kind  WatchpointKind `json:"kind"`
	Port  string         `json:"port"`  // logical port; empty if none
	Link  string         `json:"link"`  // interface; of a tunnel, the one it was seen on
	Leave bool           `json:"leave"` // sent by the interface; else received
	Reply bool           `json:"reply"`
	// Remote is the other end's node, of a tunnel.
	Remote string `json:"remote"`
	// Expected is set if the trace says that the packet comes here.
	Expected bool `json:"expected"`
	// Seen is how many of the packets were seen.
	Seen int `json:"seen"`
	// Unwatched is why nothing could be seen here; empty if it was watched.
	Unwatched string `json:"unwatched"`
}

package logical

import "github.com/ovnctl/ovnctl/pkg/flow"

// End returns the visit in which the packet of a way ended: of a packet for one receiver the one end that it has, of
// copies the best, the first among equals. Answers and mirrored copies are not looked at.
func (w *Way) End() *Visit { return nil }

// Ends are the visits in which the packet or a copy of it ended, in the order of the way; answers that OVN made follow
// the visit that they come from.
func (w *Way) Ends() []*Visit { return nil }

// Path are the visits from the root to v.
func (v *Visit) Path() []*Visit { return nil }

// Before returns the packet as it met a step; with i the number of steps, as it left the last.
func (v *Visit) Before(i int) flow.Flow { return v.Packet }

// Resident says for an evaluation by [lflow.Flow.Explain] which ports reside on the chassis of the visit.
func (e *Engine) Resident(v *Visit) func(port string) bool { return nil }

// Reply returns the packet that the receiver of a delivered packet answers with, and where it enters; false if there is
// none: the packet was not delivered, or is no request (a UDP packet is one, an ICMP error is not).
func (v *Visit) Reply() (Start, bool) { return Start{}, false }

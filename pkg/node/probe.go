package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Prober sends marked packets from a host and sees them on its links. Live hosts are Probers, saved ones are not.
type Prober interface {
	// Listen calls see for each packet with a mark that a link of the host sends or receives, until the Listening
	// is stopped. It returns when it listens. Calls of see may come at the same time.
	Listen(ctx context.Context, w Watch, see func(Frame)) (*Listening, error)
	// Send sends IP packets. The error is an ErrNotSent if the kernel refuses one.
	Send(ctx context.Context, s Sending) error
	// PacketOut has a bridge carry out actions on frames, ovs-ofctl(8) packet-out. It stops at the first that the bridge refuses.
	PacketOut(ctx context.Context, bridge string, frames []Outgoing) error
}

// An Outgoing is a frame and the OpenFlow actions to carry out on it.
type Outgoing struct {
	Frame   []byte
	InPort  int // of OpenFlow, by which it comes in; 0: none
	Actions string
}

// packetOut returns the arguments of ovs-ofctl(8) behind the bridge.
func (o Outgoing) packetOut() string {
	port := "controller"
	if o.InPort != 0 {
		port = strconv.Itoa(o.InPort)
	}
	return fmt.Sprintf("in_port=%s packet=%x actions=%s", port, o.Frame, o.Actions)
}

// ErrNotSent means that the sender's own kernel does not send a packet: it has no route, or the packet is too long.
var ErrNotSent = errors.New("not sent")

// A Watch is what a Prober listens for.
type Watch struct {
	Words []Word
	// Pods are links of the host whose other ends are watched as well: the interfaces of pods.
	Pods []string
	// Protocols are the IP protocols of which it is watched, too, what the kernels of the host and of the pods deliver to their sockets,
	// behind packet filters and reverse path filters.
	Protocols []int
	// For ends it if nothing else does.
	For time.Duration
}

// A Word is four bytes at an even offset of a packet by which it is recognized, encapsulated or not.
type Word struct {
	Value uint32
	Mask  uint32
}

// A Frame is a packet on a link, from its network header on.
type Frame struct {
	Link string `json:"link"`
	Pod  bool   `json:"pod,omitempty"` // at the other end of Link, in the pod's network namespace
	Out  bool   `json:"out,omitempty"` // sent by whoever has the link; else received
	// Delivered is set if the kernel delivered it to sockets. Link is then empty unless it is a pod's kernel.
	Delivered bool   `json:"delivered,omitempty"`
	Protocol  uint16 `json:"protocol"` // EtherType
	Data      []byte `json:"data"`     // the beginning
}

// A Listening is a running watch.
type Listening struct {
	// Unread are the pods' links whose other ends are not watched, and why.
	Unread map[string]string
	// Undelivered is why it is not watched what kernels deliver; empty if it is.
	Undelivered string
	stop        func() error
}

// Stop ends a watch; all packets so far were seen when it returns. The error is why some may have been missed.
func (l *Listening) Stop() error { return l.stop() }

// A Sending is IP packets to send.
type Sending struct {
	// Pod is the link of the host whose other end the sender has; empty for the host itself.
	Pod      string
	Packets  [][]byte
	Interval time.Duration
}

const (
	// frameSize is how much of a packet is kept: all headers in a tunnel, and the mark behind them.
	frameSize = 512
	// Marks are looked for up to markEnd: behind Geneve over IPv6 and, within an ICMPv6 error, a second IPv6 header.
	markEnd = 208
	// maxFrames bounds what one listener reports.
	maxFrames = 10000
)

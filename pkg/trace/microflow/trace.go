package microflow

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Options are ovn-trace's options that change the trace.
type Options struct {
	CT        []uint32       // conntrack's results in order: bits of ct_state; est|trk after the last
	Backend   netip.AddrPort // load balancers prefer it; those without backends take it
	SelectID  uint16         // preferred by select(); 0 is none
	FullNames bool           // OVN's names instead of those of the CMS

	// OpenFlow returns the flows with a cookie as text, to be shown below their logical flow. Nil shows none.
	OpenFlow func(ctx context.Context, cookie uint32) ([]string, error)
	// Choose picks one of n where ovn-trace does not specify which: a "backend", a member of a "select", one of several
	// flows that "tie". Nil picks the first.
	Choose func(kind string, n int) int
}

// A Result is a trace.
type Result struct {
	Flow packet.Flow // the packet as the microflow describes it
	Root *Node
	Ties int // number of ties between matching flows
	// Unread are flows that could not be read and that the packet may hit: nothing is known of what follows them.
	Unread []Unread
	// Templates are flows with template variables that the packet may hit: ovn-trace is on no chassis, so that they have
	// no values, and passes them over.
	Templates []Unread
}

// An Unread is the JSON contract of a flow that could not be read.
type Unread struct {
	UUID     string `json:"uuid"`
	Datapath string `json:"datapath"`
	Pipeline string `json:"pipeline"`
	Table    int    `json:"table"`
	Stage    string `json:"stage"`
	Priority int    `json:"priority"`
	Text     string `json:"text"` // what could not be read: its match or its actions
	Reason   string `json:"reason"`
}

// String names the flow.
func (u Unread) String() string {
	return fmt.Sprintf("%s %s table %d (%s) has a flow that cannot be read and may be hit: priority %d, %s (%s), uuid %.8s",
		u.Datapath, u.Pipeline, u.Table, u.Stage, u.Priority, u.Text, u.Reason, u.UUID)
}

// A Refusal is what ovn-trace prints instead of a trace.
type Refusal struct {
	Text string // as printed, with its newline if it has one
	// Port and Datapath are the unknown name, if that is the reason.
	Port, Datapath string
	// Err is the fault in the microflow, if that is the reason: mostly an *[ovnexpr.SyntaxError].
	Err error
}

func (r *Refusal) Error() string { return strings.TrimSuffix(r.Text, "\n") }

// Unwrap returns the fault in the microflow.
func (r *Refusal) Unwrap() error { return r.Err }

func malformed(err error) error {
	return &Refusal{Text: fmt.Sprintf("error parsing flow: %s\n", err), Err: err}
}

// Packet returns the packet as the OVS library prints it, without metadata that is zero.
func (r *Result) Packet() string { return printPacket(&r.Flow) }

// Trace follows the packet that a microflow describes. The datapath is a name or a UUID prefix; empty means that of the
// microflow's inport. The network should ignore tags ([logicalflow.Network.IgnoreTags]). The error is a *[Refusal] if
// ovn-trace refuses; any other reports what could not be read, or that the trace does not end.
func Trace(ctx context.Context, n *logicalflow.Network, datapath, microflow string, o Options) (*Result, error) {
	w := &walker{ctx: ctx, net: n, options: o, symbols: ovnexpr.SymbolsOf(ovnexpr.Profile{Version: n.Version()}), backend: o.Backend, residents: map[string]bool{}}
	d, p, err := w.start(datapath, microflow)
	if err != nil {
		return nil, err
	}
	inport := w.portByKey(d, key(&p, inportReg))
	r := &Result{Flow: p, Root: &Node{Kind: Pipeline}}
	r.Root.Text = fmt.Sprintf("ingress(dp=\"%s\", inport=\"%s\")", w.datapathName(d), w.nameOr(inport, "(unnamed)"))
	w.table(logicalflow.Table{Datapath: d, Pipeline: logicalflow.Ingress}, &p, r.Root)
	r.Ties, r.Unread, r.Templates = w.ties, w.unread, w.templates
	return r, w.err
}

var errNoInport = &Refusal{Text: "microflow does not specify ingress port"}

// start parses the microflow and returns where the packet begins.
func (w *walker) start(datapath, microflow string) (*logicalflow.Datapath, packet.Flow, error) {
	var none packet.Flow
	var d *logicalflow.Datapath
	if datapath != "" {
		if d = w.findDatapath(datapath); d == nil {
			return nil, none, &Refusal{Text: fmt.Sprintf("unknown datapath \"%s\"\n", datapath), Datapath: datapath}
		}
	}
	m, err := ovnexpr.ParseMicroflow(microflow, w.symbols, w.net.AddressSets(w.ctx))
	if err != nil {
		return nil, none, malformed(err)
	}
	if d == nil {
		name, err := m.Inport()
		if err != nil {
			return nil, none, malformed(err)
		}
		p := w.port(name)
		switch {
		case w.err != nil:
			return nil, none, w.err
		case p == nil:
			return nil, none, &Refusal{Text: fmt.Sprintf("unknown port \"%s\"\n", name), Port: name}
		}
		d = p.Datapath
	}
	p, err := m.Flow(func(name string) (uint64, bool) { return w.portKey(d, name) })
	switch {
	case w.err != nil:
		return nil, none, w.err
	case err != nil:
		return nil, none, malformed(err)
	case key(&p, inportReg) == 0 && w.net.Version().Has(release.InportRequired):
		return nil, none, errNoInport
	}
	p.Set(&packet.NWTOS, packet.Uint(0)) // ovn-trace loses ip.dscp and ip.ecn of a microflow
	return d, p, nil
}

// ParseCT parses a connection state as given to --ct: "new", "est,rpl". Tracked is implied.
func ParseCT(text string) (uint32, error) {
	state, err := packet.ParseCTState(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), ","))
	if err != nil {
		return 0, fmt.Errorf("%q is not a connection state: expected some of new, est, rel, rpl, inv, trk, snat, dnat", text)
	}
	return state | packet.CTTracked, nil
}

package microflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Bounds of a trace: more than a packet needs that two routers send back and forth until its TTL expires. ovn-trace has
// none and goes on until it runs out of memory.
const (
	maxTables = 100_000 // as errEndless says
	maxDepth  = 20_000
)

var errEndless = errors.New("the packet loops: it passed 100000 tables")

// A walker follows one packet.
type walker struct {
	ctx     context.Context
	net     *logicalflow.Network
	options Options
	symbols *ovnexpr.Symbols

	states    int             // how many of the conntrack states were used
	backend   netip.AddrPort  // used once
	residents map[string]bool // cached port lookups
	tables    int
	depth     int
	ties      int
	unread    []Unread
	templates []Unread
	err       error // the first
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// choose picks one of n.
func (w *walker) choose(kind string, n int) int {
	if n < 2 || w.options.Choose == nil {
		return 0
	}
	return min(max(w.options.Choose(kind, n), 0), n-1)
}

var (
	inportReg, outportReg, flagsReg = packet.Reg(14), packet.Reg(15), packet.Reg(10)

	ctState = &packet.CTState
	ethSrc  = &packet.EthSrc
	ethDst  = &packet.EthDst
	ethType = &packet.EthType

	// Of any packet, whatever its protocol.
	tpSrc, tpDst = packet.Subfield{Field: &packet.TCPSrc, Bits: 16}, packet.Subfield{Field: &packet.TCPDst, Bits: 16}
)

const (
	allowLoopback = 1 << 0 // of flagsReg

	protoIGMP = 2
)

// key returns a packet's port number.
func key(p *packet.Flow, reg *packet.Field) int { return int(p.Get(reg).Lo & 0xffff) }

// table follows a packet through a table and everything after it, modifying the packet.
func (w *walker) table(at logicalflow.Table, p *packet.Flow, super *Node) {
	if w.depth++; w.depth > maxDepth {
		w.fail(errEndless)
	}
	defer func() { w.depth-- }()
	var f *logicalflow.Flow
	var ties []*logicalflow.Flow
	for {
		if w.tables++; w.tables > maxTables {
			w.fail(errEndless)
		}
		if w.err == nil {
			w.fail(w.ctx.Err())
		}
		if w.err != nil {
			return
		}
		hit := w.hit(at, p)
		if w.lost(hit, at, super) {
			return
		}
		f, ties = w.first(hit)
		if f == nil || !w.isPlain(f, at) {
			break
		}
		at.ID++
	}
	if f == nil {
		stage, err := w.net.Stage(w.ctx, at)
		w.fail(err)
		if stage != "" {
			stage += ": "
		}
		super.add(Table, "%2d. %sno match (implicit drop)", at.ID, stage)
		return
	}
	node := super.add(Table, "%2d. %s%s, priority %d, uuid %.8s", at.ID, origin(f), w.friendly(f.Row.Match), f.Row.Priority, f.Row.UUID)
	node.Hit = &Hit{
		UUID: string(f.Row.UUID), Datapath: w.datapathName(at.Datapath), Pipeline: at.Pipeline, Table: at.ID, Stage: f.Stage(),
		Priority: f.Row.Priority, Match: f.Row.Match, Actions: f.Row.Actions,
	}
	for _, t := range ties {
		node.Hit.Ties = append(node.Hit.Ties, string(t.Row.UUID))
	}
	w.openFlow(f, node)
	w.actions(f.Actions(), at, p, node)
}

// lost reports whether a packet may hit a flow that could not be read, and shows that. Flows with template variables
// are left to their chassis, as ovn-trace does.
func (w *walker) lost(hit logicalflow.Hit, at logicalflow.Table, super *Node) bool {
	found := false
	for _, f := range hit.Unknown {
		u := Unread{
			UUID: string(f.Row.UUID), Datapath: w.datapathName(at.Datapath), Pipeline: at.Pipeline, Table: at.ID, Stage: f.Stage(),
			Priority: f.Row.Priority, Text: f.Unread(), Reason: f.Err().Error(),
		}
		if f.Templated() {
			w.templates = append(w.templates, u)
			continue
		}
		w.unread = append(w.unread, u)
		super.add(Fault, "*** %v", u)
		found = true
	}
	return found
}

// first picks the flow that a packet hits, and returns others that tie with it.
func (w *walker) first(hit logicalflow.Hit) (*logicalflow.Flow, []*logicalflow.Flow) {
	if hit.Flow == nil || len(hit.Ties) == 0 {
		return hit.Flow, nil
	}
	w.ties++
	all := append([]*logicalflow.Flow{hit.Flow}, hit.Ties...)
	slices.SortFunc(all, func(a, b *logicalflow.Flow) int { return cmp.Compare(w.place(a), w.place(b)) })
	i := w.choose("tie", len(all))
	all[0], all[i] = all[i], all[0]
	return all[0], all[1:]
}

// place returns a flow's place in ovn-trace's table of flows. Of flows of one priority, ovn-trace takes the first.
func (w *walker) place(f *logicalflow.Flow) uint32 {
	return rowHash(f.Row.UUID) & uint32(bucketsFor(w.rows())-1)
}

// mostCounted is the largest number of datapaths for which a Southbound's flows are counted: the server needs some
// hundredths of a second for that.
const mostCounted = 100

// rows returns how many flows ovn-trace reads; a large number if there are too many to count.
func (w *walker) rows() int {
	if len(w.net.Datapaths()) > mostCounted {
		return math.MaxUint32
	}
	n, err := w.net.CountFlows(w.ctx)
	w.fail(err)
	return n
}

// hit looks up with what is known of where ports reside, and again if an unknown port turns out to reside elsewhere:
// the network cannot be read during a lookup.
func (w *walker) hit(at logicalflow.Table, p *packet.Flow) logicalflow.Hit {
	for {
		var asked []string
		hit, err := w.net.Lookup(w.ctx, at, p, func(port string) bool {
			there, known := w.residents[port]
			if !known {
				asked = append(asked, port)
			}
			return there || !known
		})
		w.fail(err)
		again := false
		for _, port := range asked {
			again = !w.resident(port) || again
		}
		if !again || w.err != nil {
			return hit
		}
	}
}

// resident is true for all existing ports: ovn-trace is on no chassis.
func (w *walker) resident(port string) bool {
	there, known := w.residents[port]
	if !known {
		there = port == "" || w.port(port) != nil
		w.residents[port] = there
	}
	return there
}

// origin returns where in ovn-northd a flow comes from.
func origin(f *logicalflow.Flow) string {
	stage, source := f.Stage(), f.Row.ExternalIDs["source"]
	switch {
	case stage != "" && source != "":
		return stage + " (" + source + "): "
	case stage != "":
		return stage + ": "
	case source != "":
		return "(" + source + "): "
	}
	return ""
}

// isPlain reports whether a flow just passes every packet on to the next table, and is not worth printing.
func (w *walker) isPlain(f *logicalflow.Flow, at logicalflow.Table) bool {
	if len(f.Actions()) != 1 {
		return false
	}
	next, ok := f.Actions()[0].(*ovnexpr.Next)
	if !ok || target(next, at).ID != at.ID+1 {
		return false
	}
	if f.Row.Match == "1" {
		return true
	}
	m, err := ovnexpr.ParseMatch(f.Row.Match)
	return err == nil && w.constant(m.Root) == always
}

// A truth is what is known of a match without a packet.
type truth int

const (
	depends truth = iota
	always
	never
)

// constant returns what is known of a match.
func (w *walker) constant(n ovnexpr.Node) truth {
	switch n := n.(type) {
	case *ovnexpr.Literal:
		return truthOf(n.True)
	case *ovnexpr.Resident:
		return truthOf(w.resident(n.Port))
	case *ovnexpr.Paren:
		return w.constant(n.Inner)
	case *ovnexpr.Not:
		return [...]truth{depends: depends, always: never, never: always}[w.constant(n.Operand)]
	case *ovnexpr.And:
		return w.constantOf(n.Operands, never, always)
	case *ovnexpr.Or:
		return w.constantOf(n.Operands, always, never)
	}
	return depends
}

// constantOf returns what is known of operands of which one can decide; otherwise all must agree.
func (w *walker) constantOf(operands []ovnexpr.Node, decides, otherwise truth) truth {
	all := otherwise
	for _, o := range operands {
		switch w.constant(o) {
		case decides:
			return decides
		case depends:
			all = depends
		}
	}
	return all
}

func truthOf(b bool) truth {
	if b {
		return always
	}
	return never
}

// openFlow shows the OpenFlow flows made from a logical flow.
func (w *walker) openFlow(f *logicalflow.Flow, node *Node) {
	if w.options.OpenFlow == nil {
		return
	}
	cookie, err := strconv.ParseUint(fmt.Sprintf("%.8s", f.Row.UUID), 16, 32)
	if err != nil {
		return
	}
	flows, err := w.options.OpenFlow(w.ctx, uint32(cookie))
	switch {
	case err != nil:
		node.add(Fault, "*** error obtaining flow stats (%s)", err)
	case len(flows) == 0:
		node.add(Fault, "*** no OpenFlow flows")
	}
	for _, text := range flows {
		node.add(Action, "%s", text)
	}
}

// actions runs actions on a packet.
func (w *walker) actions(list ovnexpr.Actions, at logicalflow.Table, p *packet.Flow, super *Node) {
	r := &run{walker: w, at: at, p: p, super: super}
	done := 0
	for _, a := range list {
		if _, dropped := a.(*ovnexpr.Drop); dropped {
			continue
		}
		done++
		if w.err != nil {
			return
		}
		super.add(Action, "%s", w.friendly(ovnexpr.Canonical(a, w.net.Version(), place(at))))
		r.action(a)
	}
	if done == 0 {
		super.add(Action, "drop;")
	}
}

// A run is the execution of the actions of one flow.
type run struct {
	*walker
	at    logicalflow.Table
	p     *packet.Flow
	super *Node
	stack []packet.Value
}

// action runs one action. Actions not listed have no effect that ovn-trace would show.
func (r *run) action(a ovnexpr.Action) {
	switch a := a.(type) {
	case *ovnexpr.Next:
		r.next(a)
	case *ovnexpr.Load:
		r.load(a)
	case *ovnexpr.Move:
		r.move(a)
	case *ovnexpr.Exchange:
		r.exchange(a)
	case *ovnexpr.Push:
		r.push(a)
	case *ovnexpr.Pop:
		r.pop(a)
	case *ovnexpr.DecTTL:
		r.decTTL()
	case *ovnexpr.CTNext:
		r.ctNext(a)
	case *ovnexpr.CTCommitTo:
		r.ctCommitTo(a)
	case *ovnexpr.CTNAT:
		r.ctNAT(a)
	case *ovnexpr.CTLB:
		r.ctLB(a)
	case *ovnexpr.Select:
		r.choice(a)
	case *ovnexpr.Nested:
		r.nested(a)
	case *ovnexpr.PutOptions:
		r.putOptions(a)
	case *ovnexpr.DHCPRelay:
		r.dhcpRelay(a)
	case *ovnexpr.Log:
		r.log(a)
	case *ovnexpr.Call:
		r.call(a)
	case *ovnexpr.Plain:
		r.plain(a)
	case *ovnexpr.Mirror:
		r.mirror(a)
	}
}

func (r *run) plain(a *ovnexpr.Plain) {
	switch a.Name {
	case "output":
		r.output()
	case "ct_clear":
		r.p.ClearConntrack()
	case "ct_snat_to_vip":
		r.snatToVIP()
	case "flood_remote":
		r.super.add(Output, "/* Flood to all remote chassis */")
	}
}

func (r *run) next(a *ovnexpr.Next) {
	to, super := target(a, r.at), r.super
	if to.Pipeline != r.at.Pipeline {
		name, reg := "outport", outportReg
		if to.Pipeline == logicalflow.Ingress {
			name, reg = "inport", inportReg
		}
		super = super.add(Pipeline, "%s(dp=\"%s\", %s=\"%s\")", to.Pipeline, r.datapathName(r.at.Datapath), name,
			r.keyName(r.at.Datapath, key(r.p, reg)))
	}
	r.table(to, r.p, super)
}

// after returns the next table.
func (r *run) after() logicalflow.Table {
	at := r.at
	at.ID++
	return at
}

func (r *run) log(a *ovnexpr.Log) {
	name, direction := a.Name, "OUT"
	if name == "" {
		name = "<unnamed>"
	}
	if r.at.Pipeline == logicalflow.Ingress {
		direction = "IN"
	}
	r.super.add(Transformation, "LOG: ACL name=%s, direction=%s, verdict=%s, severity=%s, packet=\"%s\"",
		name, direction, a.Verdict, cmp.Or(a.Severity, "info"), printPacket(r.p))
}

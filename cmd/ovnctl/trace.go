package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// defaultSourcePort is the port that packets are sent from.
const defaultSourcePort = 40000

type traceOptions struct {
	*options
	tcp, udp   oncePort
	icmp       bool
	sourcePort int
	v4, v6     bool
	namespace  namespace
	verbose    bool
	evidence   bool // for a page: as verbose, of all that is followed
	logical    bool
	whyNot     bool
	backend    backend
	length     int
	dscp       int
	dns        string
	against    string
	observe    time.Duration
	watch      watchInterval
	standing   *trace.Standing // of --watch
	send       sendOptions
}

func newTrace(root *options) *cobra.Command {
	o := &traceOptions{options: root}
	cmd := &cobra.Command{
		Use:   "trace FROM TO",
		Short: "Follow a packet and its reply, and name what stops them",
		Long: `trace follows a packet from FROM to TO through the logical network, through the
OpenFlow tables of each node it crosses and the tunnels between them, and its
reply back. FROM and TO are written as NAMESPACE/POD, a pod's name when there is
only one, lsp:PORT, node:NODE, svc:NAMESPACE/NAME[:PORT], vm:NAME, ip:ADDRESS,
external:ADDRESS or an address.

The packet is the first of a new connection; without --send, nothing is sent.
Each node's ovs-vswitchd is asked what it would do with the packet: here through
its control socket, on other nodes through --node-exec. If a node on the path is
unreachable, the verdict is the expected one, by the logical flows in the
Southbound. --logical reads no node.

--observe reads the counters of the flows on the path twice, on every node: they
show how far real packets get, and whether the verdict is right. Without traffic
there is nothing to see: send some. Packets lost on a path that should work:
exit code 1.

--send sends the packet for real, with a mark, and watches every node on the
path for it and its reply: who saw it, and where it is lost. Exit code 0 means
that a reply came back. --size auto finds the path MTU.

--watch goes on until interrupted: it traces again when the databases change, at
least every so many seconds, and prints what becomes of the packet when that
changes, with what changed before. With -o json each trace is a line.
` + exitStatusHelp,
		Example: `  ovnctl trace shop/client shop/web-1 --tcp 8080
  ovnctl trace shop/client svc:shop/web --tcp 80 -v
  ovnctl trace shop/client bank/ledger --tcp 8080 --why-not
  ovnctl trace shop/client svc:shop/web --tcp 80 --logical --backend 10.244.3.5
  ovnctl trace shop/client shop/web-1 --tcp 8080 --observe 10
  ovnctl trace shop/client shop/web-1 --tcp 8080 --send --via ssh
  ovnctl trace shop/client shop/web-2 --send --size auto
  ovnctl trace shop/client shop/web-1 --tcp 8080 --watch
  ovnctl trace shop/client 203.0.113.10 --via ssh`,
		Args: func(cmd *cobra.Command, args []string) error {
			return cobra.ExactArgs(2)(cmd, o.watch.take(cmd, args))
		},
		ValidArgsFunction: o.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), o.namespace.name(args[0]), o.namespace.name(args[1]))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.addPacket(cmd)
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every table, not only what decided")
	f.BoolVar(&o.logical, "logical", false, "read no node: follow the logical flows only")
	f.BoolVar(&o.whyNot, "why-not", false, "if it does not arrive, propose the smallest changes that would let it pass")
	f.Var((*seconds)(&o.observe), "observe", "watch the counters of the flows on the path for so many `seconds`, and say how far real packets get")
	cmd.MarkFlagsMutuallyExclusive("observe", "logical")
	f.Var(&o.watch, "watch", "trace again when something changes, at least every so many `seconds`, until interrupted")
	f.Lookup("watch").NoOptDefVal = "1"
	f.StringVar(&o.against, "against", "", "also trace in a second `source`, a capture or live, and say where the paths diverge")
	o.send.add(cmd)
	for _, name := range []string{"observe", "send", "against"} {
		cmd.MarkFlagsMutuallyExclusive("watch", name)
	}
	addMicroflow(cmd, root)
	addFlow(cmd, root)
	return cmd
}

// addPacket adds the flags that say which packet is followed.
func (o *traceOptions) addPacket(cmd *cobra.Command) {
	f := cmd.Flags()
	o.namespace.addFlag(f)
	f.Var(&o.tcp, "tcp", "a TCP connection to this `port`")
	f.Var(&o.udp, "udp", "a UDP datagram to this `port`")
	f.BoolVar(&o.icmp, "icmp", false, "an echo request (the default)")
	o.sourcePort = defaultSourcePort
	f.Var((*port)(&o.sourcePort), "source-port", "the `port` it is sent from")
	f.BoolVarP(&o.v4, "ipv4", "4", false, "IPv4 where both are possible (the default)")
	f.BoolVarP(&o.v6, "ipv6", "6", false, "IPv6 where both are possible")
	f.Var(&o.backend, "backend", "follow only this backend of a service, as `ADDRESS[:PORT]`")
	f.Var((*length)(&o.length), "length", "length of the packet in `bytes`, Ethernet header included, for path MTU checks")
	f.Var((*dscp)(&o.dscp), "dscp", "the packet's differentiated services `codepoint`, 0 to 63, which QoS rules may match")
	f.StringVar(&o.dns, "dns", "", "the packet is a DNS query for this `name`, which OVN may answer")
	cmd.MarkFlagsMutuallyExclusive("tcp", "udp", "icmp")
	cmd.MarkFlagsMutuallyExclusive("ipv4", "ipv6")
}

func (o *traceOptions) run(ctx context.Context, from, to string) (err error) {
	format, err := o.format(traceFormats...)
	if err != nil {
		return err
	}
	if o.observe > 0 && o.offline != "" {
		return usageError{errors.New("--observe needs running nodes and --offline reads a capture: give one of the two")}
	}
	if err := o.send.check(o.options); err != nil {
		return usageError{err}
	}
	if o.against != "" {
		return o.runAgainst(ctx, cmp.Or(o.offline, live), o.against, from, to)
	}
	if o.watch > 0 && (o.offline != "" || o.output == "yaml" || o.output == "md") {
		return usageError{errors.New("--watch needs a live deployment, and prints text or -o json")}
	}
	c, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	if o.watch > 0 {
		return o.runWatch(ctx, c, from, to)
	}
	debug.SetGCPercent(400) // as for doctor: what is read is kept until the end
	t, notes, err := o.follow(ctx, c, from, to)
	if err != nil {
		o.warn(c)
		return err
	}
	if o.machine() || format == "svg" || format == "html" {
		o.warn(c)
	}
	if err := o.print(format, c, notes, t); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if t.Sent != nil {
		return sentVerdict(t.Sent.Result)
	}
	if t.Observed != nil && t.Observed.Result == journey.Refuted {
		return verdict(exitFound) // real packets are lost, whatever the flows say
	}
	return traceVerdict(t.Verdict.Outcome, partly(c) != nil)
}

// follow traces the packet in one deployment, with notes on what was not read.
func (o *traceOptions) follow(ctx context.Context, c *cluster.Cluster, from, to string) (*journey.Trace, []string, error) {
	if !o.logical {
		trace.Prepare(c)
	}
	g, err := topology.LoadBetween(ctx, c, from, to)
	if err != nil {
		return nil, nil, unknownError{err}
	}
	q := o.query(from, to)
	p := o.progress(0)
	q.Progress = func(text string) { p.show("%s", text) }
	t, notes, err := trace.Run(ctx, c, g, q)
	p.clear()
	var name *topology.NameError
	switch {
	case ctx.Err() != nil: // unread sources are not unknown: the run was interrupted
		return nil, nil, ctx.Err()
	case errors.As(err, &name):
		return nil, nil, namesError(err, c)
	case err != nil:
		return nil, nil, unknownError{err}
	}
	for i, command := range t.Next {
		if !o.machine() { // documents say their source in source
			t.Next[i] = o.sameSource(command)
		}
	}
	if o.send.on {
		if t.Sent, err = o.sendPacket(ctx, c, g, t); err != nil {
			return nil, nil, err
		}
	}
	if !o.showCommands {
		t.Commands = nil
	}
	if len(t.Simulated) > 0 && !o.machine() { // else the source is shown
		notes = append(notes, simulated(t.Simulated))
	}
	notes = slices.Concat(notes, c.Notes, g.Notes)
	for _, p := range c.Problems {
		if p.Node == "" || p.Node != t.Verdict.Because.Node || t.Verdict.Because.Kind != journey.NodeUnread { // else the verdict shows it
			notes = append(notes, problemText(p))
		}
	}
	return t, notes, nil
}

// simulated is the note on nodes whose ovs-vswitchd was unreachable.
func simulated(nodes []string) string {
	last := len(nodes) - 1
	if last == 0 {
		return nodes[0] + " is simulated from saved flows"
	}
	return strings.Join(nodes[:last], ", ") + " and " + nodes[last] + " are simulated from saved flows"
}

// completeEndpoints offers possible sources and destinations.
func (o *traceOptions) completeEndpoints(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) >= 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeNames(cmd, word, topology.Endpoints...)
}

func (o *traceOptions) print(format string, c *cluster.Cluster, notes []string, t *journey.Trace) error {
	switch format {
	case "json", "yaml":
		source := c.Source()
		source.Simulated = t.Simulated
		return render.Write(o.stdout, format, journey.Document{Envelope: document.New("Trace", source, notes), Trace: t})
	case "md":
		return render.TraceMarkdown(o.stdout, t, notes, o.verbose)
	case "svg":
		return picture.Trace(t, notes).SVG(o.stdout)
	case "html":
		p := o.pageOf(c, "Path of a packet")
		p.Paths = []page.Path{render.PagePath(t, notes)}
		return p.Write(o.stdout)
	}
	return render.Trace(o.stdout, o.style(o.stdout), t, notes, o.verbose)
}

// query builds the query from the flags.
func (o *traceOptions) query(from, to string) trace.Query {
	q := trace.Query{
		From: from, To: to, Protocol: "icmp", SourcePort: o.sourcePort,
		Logical: o.logical, Backend: netip.AddrPort(o.backend), Length: o.length, DSCP: o.dscp, Name: o.dns,
		WhyNot: o.whyNot, Evidence: o.verbose || o.evidence || o.machine() || o.output == "html", Observe: o.observe, Standing: o.standing,
	}
	if o.send.size.bytes > 0 {
		q.Length = o.send.size.bytes + ethernetHeader
	}
	switch {
	case o.tcp != 0:
		q.Protocol, q.Port = "tcp", int(o.tcp)
	case o.udp != 0:
		q.Protocol, q.Port = "udp", int(o.udp)
	case !o.icmp:
		q.Protocol = "" // the service's protocol, else ICMP
	}
	switch {
	case o.v4:
		q.Family = 4
	case o.v6:
		q.Family = 6
	}
	return q
}

// backend is a flag that takes an address, with or without a port.
type backend netip.AddrPort

func (b *backend) String() string {
	if a := netip.AddrPort(*b); a.IsValid() {
		return a.String()
	}
	return ""
}
func (b *backend) Type() string { return "ADDRESS[:PORT]" }

func (b *backend) Set(text string) error {
	a, err := netip.ParseAddrPort(text)
	if plain, perr := netip.ParseAddr(strings.Trim(text, "[]")); perr == nil {
		a, err = netip.AddrPortFrom(plain, 0), nil
	}
	if err != nil {
		return errors.New("expected an address, or ADDRESS:PORT, as 10.244.3.5:8080")
	}
	*b = backend(netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
	return nil
}

// length is a flag that takes a packet length.
type length int

func (l *length) String() string { return strconv.Itoa(int(*l)) }
func (l *length) Type() string   { return "bytes" }

func (l *length) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n < 60 {
		return errors.New("expected 60 to 65535")
	}
	*l = length(n)
	return nil
}

// dscp is a flag that takes a differentiated services codepoint.
type dscp int

func (d *dscp) String() string { return strconv.Itoa(int(*d)) }
func (d *dscp) Type() string   { return "codepoint" }

func (d *dscp) Set(text string) error {
	n, err := strconv.ParseUint(text, 0, 8)
	if err != nil || n > 63 {
		return errors.New("expected 0 to 63")
	}
	*d = dscp(n)
	return nil
}

// traceVerdict returns the exit code for an outcome. A packet known to be lost outranks an unread source.
func traceVerdict(o journey.Outcome, unread bool) error {
	switch {
	case o == journey.Unknown, o == journey.Delivered && unread:
		return verdict(exitUnknown)
	case o == journey.Delivered:
		return nil
	}
	return verdict(exitFound)
}

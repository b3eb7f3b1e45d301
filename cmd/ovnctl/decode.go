package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/decode/text"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/pcap"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/render"
)

type decodeOptions struct {
	*options
	node, bridge string
	release      releaseFlag
	plain        bool
	verbose      bool
}

func newDecode(root *options) *cobra.Command {
	o := &decodeOptions{options: root}
	cmd := &cobra.Command{
		Use:   "decode [FILE]",
		Short: "Name the numbers in any Open vSwitch or OVN text",
		Long: `decode prints FILE, or standard input, and adds to each number that it knows its
name in angle brackets: metadata=0x5<switch node1>. It reads the output of
ofproto/trace, dump-flows, dump-groups, dpctl/dump-flows, dpctl/dump-conntrack
and of tcpdump for Geneve and VXLAN packets, whole or in parts, amid other text,
which it leaves as it is.

If FILE is a capture of packets, pcap or pcapng, decode prints a line per
packet.

Names come from the databases and the node as they are now; text from another
time or node may have other numbers. Without databases, or with --plain, the
numbers are explained instead.
` + exitStatusHelp,
		Example: `  ovs-ofctl dump-flows br-int | ovnctl decode
  ovs-appctl ofproto/trace br-int in_port=1,icmp | ovnctl decode
  ovnctl decode trace.txt --offline capture/ --node node1
  tcpdump -nnve -i eth0 udp port 6081 | ovnctl decode
  ovnctl decode tunnel.pcap`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.node, "node", "", "the `node` that the text is from (default this one, or the only one)")
	f.StringVar(&o.bridge, "bridge", "", "the `bridge` that the flows are from, if the text does not say")
	f.Var(&o.release, "release", "the OVN `release` that made the flows, such as 23.03.1, if it cannot be detected")
	f.BoolVar(&o.plain, "plain", false, "read no database and no node: explain the numbers instead")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print on standard error where the names come from")
	o.completeNode(cmd)
	return cmd
}

// completeNode offers the nodes for --node.
func (o *options) completeNode(cmd *cobra.Command) {
	if err := cmd.RegisterFlagCompletionFunc("node", o.completeNodes); err != nil {
		panic(err) // every caller has the flag
	}
}

// releaseFlag takes a release of OVN.
type releaseFlag release.Version

func (r *releaseFlag) String() string {
	if v := release.Version(*r); v != (release.Version{}) {
		return v.String()
	}
	return ""
}
func (r *releaseFlag) Type() string { return "release" }

func (r *releaseFlag) Set(text string) error {
	v := release.Parse(text)
	if v == (release.Version{}) {
		return errors.New("expected a release of OVN such as 23.03.1")
	}
	*r = releaseFlag(v)
	return nil
}

func (o *decodeOptions) run(ctx context.Context, file string) (err error) {
	format, err := o.format(decodeFormats...)
	if err != nil {
		return err
	}
	in, err := openText(file, o.stdin)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	if in.terminal() {
		fmt.Fprintln(o.stderr, "ovnctl: reading from the terminal, end with Ctrl-D")
	}
	// As for doctor: what is read is kept until the end.
	debug.SetGCPercent(400)
	c, unread, err := o.sources(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	ch, err := o.decoder(ctx, c)
	if err != nil {
		return err
	}
	a := ch.annotator(ctx, o.bridge)
	d := &decoding{
		Annotator: a, format: format, style: o.style(o.stdout), out: bufio.NewWriterSize(o.stdout, 1<<16),
		head: document.New("Decoded", c.Source(), append(append(problemTexts(c), c.Notes...), ch.notes...)),
	}
	if err := d.all(ctx, in); err != nil {
		return err
	}
	if o.verbose {
		o.explain(c, ch)
	}
	if unread || len(c.Problems) > 0 && !o.plain {
		o.warn(c)
		return verdict(exitUnknown)
	}
	return nil
}

// sources opens what is available. Finding nothing is no error unless something was named: text can be explained
// without.
func (o *decodeOptions) sources(ctx context.Context) (c *cluster.Cluster, unread bool, err error) {
	if o.plain {
		return &cluster.Cluster{}, false, nil
	}
	if c, err = o.openOwn(ctx); err == nil {
		return c, false, nil
	}
	if ctx.Err() != nil || o.node != "" {
		return nil, false, err
	}
	named := o.nb+o.sb+o.ovs+o.offline != "" || os.Getenv("OVN_NB_DB")+os.Getenv("OVN_SB_DB") != ""
	if named {
		fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(err.Error()))
	} else if o.verbose {
		fmt.Fprintf(o.stderr, "no database: %s\n", render.CleanLines(err.Error()))
	}
	return &cluster.Cluster{}, named, nil
}

// decoder makes the decoder.
func (o *decodeOptions) decoder(ctx context.Context, c *cluster.Cluster) (*chassis, error) {
	ch, err := o.chassis(ctx, c, o.node)
	if err != nil {
		return nil, err
	}
	if v := release.Version(o.release); v != (release.Version{}) {
		ch.Names.Version = v
	}
	return ch, nil
}

// explain prints the sources of the names.
func (o *decodeOptions) explain(c *cluster.Cluster, ch *chassis) {
	for _, s := range sources(c) {
		fmt.Fprintln(o.stderr, render.Clean(s))
	}
	if ch.Node != nil {
		fmt.Fprintf(o.stderr, "ports and zones: of node %s, OVN %s\n", render.Clean(ch.Node.Name), ch.Names.Version)
	}
	fmt.Fprintf(o.stderr, "tables: %s\n", render.Clean(ch.Calibration.Source()))
	for _, p := range []struct {
		decode.Pipeline
		decode.Vote
	}{{decode.Ingress, ch.Calibration.IngressVote}, {decode.Egress, ch.Calibration.EgressVote}} {
		if base := ch.Calibration.Base(p.Pipeline); base != 0 {
			fmt.Fprintf(o.stderr, "tables: %s begins at %d, %d flows for it, %d against\n", p.Pipeline, base, p.For, p.Against)
		}
	}
	for _, note := range append(ch.notes, c.Notes...) {
		fmt.Fprintln(o.stderr, render.Clean(note))
	}
}

// A decoding is a text on its way from input to output.
type decoding struct {
	*text.Annotator
	format string
	style  render.Style
	out    *bufio.Writer
	head   document.Envelope
	whole  bool // learned from the whole text
	list   *render.ListWriter
}

// all decodes the whole text.
func (d *decoding) all(ctx context.Context, in *textInput) (err error) {
	if d.format == "json" {
		if d.list, err = render.NewListWriter(d.out, d.head, "lines"); err != nil {
			return err
		}
	}
	if err := d.lines(ctx, in); err != nil {
		_ = d.out.Flush() // write what could be read
		return err
	}
	if d.list != nil {
		if err := d.list.Close(); err != nil {
			return err
		}
	}
	return d.out.Flush()
}

// lines decodes the lines of a text, or of the packets in a capture file.
func (d *decoding) lines(ctx context.Context, in *textInput) error {
	begin := in.begin(pcap.Magic)
	switch tool := compressed(begin); {
	case tool != "":
		return usageError{fmt.Errorf("%s is compressed\nhint: %s FILE | ovnctl decode", in.name, tool)}
	case pcap.Is(begin):
		return in.packets(ctx, func(line string) error { return d.line(ctx, line) })
	}
	return in.each(ctx, d.Learn, func(whole bool) { d.whole = whole; d.Calibrate(ctx) }, func(line string, more bool) error {
		if !d.whole {
			d.Learn(line)
			d.Recalibrate(ctx)
		}
		if err := d.line(ctx, line); err != nil {
			return err
		}
		if more {
			return nil
		}
		return d.out.Flush()
	})
}

func (d *decoding) line(ctx context.Context, text string) error {
	if strings.IndexByte(text, '\x1b') >= 0 {
		text = openflow.StripColors(text)
	}
	l := d.Line(ctx, text)
	switch d.format {
	case "json":
		return d.list.Item(l.JSON(text))
	case "jsonl":
		return render.JSONLine(d.out, l.JSON(text))
	}
	return render.NamedLine(d.out, d.style, text, l.Names)
}

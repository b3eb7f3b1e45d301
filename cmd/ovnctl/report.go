package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

type reportOptions struct {
	*options
	paths []asked
	reach asked
	title string
	force bool
}

func newReport(root *options) *cobra.Command {
	o := &reportOptions{options: root}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Put topology, findings and paths into one HTML file",
		Long: `report writes one HTML file for a ticket or a post-mortem: the map of the
deployment, doctor's findings with evidence and repair, the paths of chosen
packets, and who can talk to whom. A box of the map shows its rows and its
neighbours; the search finds pods, addresses and UUIDs.

The file needs no network and loads nothing. FILE - is standard output.
` + exitStatusHelp,
		Example: `  ovnctl --offline case.tar.zst report case.html
  ovnctl report case.html --trace 'shop/client bank/vault-2 tcp/8080' --trace 'shop/client 203.0.113.10'
  ovnctl report case.html --reach tcp/8080`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var((*askedList)(&o.paths), "trace", "follow this `packet`, 'FROM TO [tcp/PORT|udp/PORT]'; can be repeated")
	f.Var(&o.reach, "reach", "show who can talk to whom by this `protocol`: icmp, tcp/PORT or udp/PORT")
	f.StringVar(&o.title, "title", "", "what the report is called")
	f.BoolVar(&o.force, "force", false, "overwrite FILE")
	return cmd
}

// asked is a packet to follow: from and to are empty for all of them.
type asked struct {
	from, to string
	tcp, udp oncePort
	text     string
}

func (a *asked) String() string { return a.text }
func (a *asked) Type() string   { return "protocol" }

// Set takes a protocol.
func (a *asked) Set(text string) error {
	a.text = text
	word, number, numbered := strings.Cut(text, "/")
	switch {
	case word == "icmp" && !numbered:
		return nil
	case word == "tcp":
		return a.tcp.Set(number)
	case word == "udp":
		return a.udp.Set(number)
	}
	return fmt.Errorf("%q: expected icmp, tcp/PORT or udp/PORT", text)
}

// askedList is a flag that takes packets.
type askedList []asked

func (l *askedList) String() string { return "" }
func (l *askedList) Type() string   { return "packet" }

func (l *askedList) Set(text string) error {
	words := strings.Fields(text)
	if len(words) != 2 && len(words) != 3 {
		return fmt.Errorf("%q: expected FROM TO, and tcp/PORT or udp/PORT", text)
	}
	a := asked{from: words[0], to: words[1]}
	if len(words) == 3 {
		if err := a.Set(words[2]); err != nil {
			return err
		}
	}
	a.text = text
	*l = append(*l, a)
	return nil
}

func (o *reportOptions) run(ctx context.Context, file string) (err error) {
	if _, err := o.format("html"); err != nil {
		return err
	}
	c, err := o.openToFix(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	p, err := o.page(ctx, c)
	if err != nil {
		return err
	}
	o.warn(c)
	out, err := o.create(file, o.force)
	if err != nil {
		return usageError{err}
	}
	if err := cmp.Or(p.Write(out), out.Close()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Problems) > 0 {
		return verdict(exitUnknown)
	}
	return nil
}

// page answers what the report shows.
func (o *reportOptions) page(ctx context.Context, c *cluster.Cluster) (*page.Page, error) {
	d := &doctorOptions{options: o.options, parallel: 1}
	all, err := checks.Choose(d.Selection)
	if err != nil {
		return nil, err
	}
	e := &examination{doctorOptions: d, c: c, checks: all}
	report, err := e.examine(ctx)
	if err != nil {
		return nil, err
	}
	g, err := topology.Load(ctx, c)
	if err != nil {
		return nil, unknownError{err}
	}
	source := c.Source()
	doc := doctor.Document{Envelope: document.New("Report", source, nil), Report: report}
	view := render.DoctorView{Unread: append(problemTexts(c), e.farNodes(e.looked)...), Command: o.fixCommand, Saved: o.offline != "", Map: &g.Topology}
	p := o.pageOf(c, cmp.Or(o.title, "Report of "+cmp.Or(o.offline, "a deployment")))
	p.Notes = append(p.Notes, g.Notes...)
	render.FindingsPage(&p, doc, view)
	for _, a := range o.paths {
		path, err := o.path(ctx, c, a)
		if err != nil {
			return nil, err
		}
		p.Paths = append(p.Paths, path)
	}
	if o.reach.text != "" {
		p.Reach, err = o.matrix(ctx, c, g)
	}
	return &p, err
}

// pageOf returns the head of a page about a deployment.
func (o *options) pageOf(c *cluster.Cluster, title string) page.Page {
	return page.Page{Title: title, Sources: sources(c), Time: c.Source().Time, Notes: slices.Concat(c.Notes, problemTexts(c)), Trace: o.sameSource("ovnctl trace")}
}

// path follows a packet.
func (o *reportOptions) path(ctx context.Context, c *cluster.Cluster, a asked) (page.Path, error) {
	t := &traceOptions{options: o.options, tcp: a.tcp, udp: a.udp, sourcePort: defaultSourcePort, evidence: true}
	followed, notes, err := t.follow(ctx, c, a.from, a.to)
	if err != nil {
		o.warn(c)
		return page.Path{}, err
	}
	return render.PagePath(followed, notes), nil
}

// matrix asks who can talk to whom.
func (o *reportOptions) matrix(ctx context.Context, c *cluster.Cluster, g *topology.Graph) (*picture.Picture, error) {
	r := &reachOptions{options: o.options, tcp: o.reach.tcp, udp: o.reach.udp, icmp: o.reach.text == "icmp", sourcePort: defaultSourcePort, maxPairs: 100000}
	plan, err := r.plan(g, nil)
	if err != nil {
		return nil, r.planError(err, c)
	}
	result, err := r.ask(ctx, c, g, plan)
	if err != nil {
		return nil, err
	}
	return render.ReachPicture(reach.Document{Result: result}, render.ReachView{}), nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/record"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/ui"
)

// uiPort is where ovnctl ui listens if nothing else does.
const uiPort = 9477

func newUI(root *options) *cobra.Command {
	port := 0
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show topology, findings and paths in a browser on this machine",
		Long: `ui serves a page on loopback and prints its address: the map of the deployment
with doctor's findings, the path of a packet hop by hop with the logical flow
and the OpenFlow flow of each table, and who can talk to whom. The address has
a token: without it nobody else on this machine can read the page. Nothing is
changed: a repair is shown as the command to run.

Of a record that ovnctl watch --keep writes, the page goes to any moment.

From another machine: ssh -L ` + strconv.Itoa(uiPort) + ":127.0.0.1:" + strconv.Itoa(uiPort) + ` HOST
` + exitStatusHelp,
		Example: `  ovnctl ui
  ovnctl ui --offline case.tar.zst
  ovnctl ui --offline /var/lib/ovnctl/record`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return root.serveUI(cmd.Context(), port, cmd.Flags().Changed("port"))
		},
	}
	cmd.Flags().IntVar(&port, "port", uiPort, "listen at this `port`; 0 takes a free one, as does the default if it is taken")
	return cmd
}

func (o *options) serveUI(ctx context.Context, port int, chosen bool) error {
	if port < 0 || port > 65535 {
		return usageError{fmt.Errorf("--port %d: expected 0 to 65535", port)}
	}
	s := &browsed{options: o}
	if dir, until, ok := record.Split(o.offline); ok {
		s.record, s.until = dir, until
	}
	c, err := o.open(ctx) // what cannot be read is said here
	if err != nil {
		return err
	}
	o.warn(c)
	if err := c.Close(); err != nil {
		return unknownError{err}
	}
	listen := func(port int) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	l, err := listen(port)
	if errors.Is(err, syscall.EADDRINUSE) && !chosen {
		l, err = listen(0)
	}
	if err != nil {
		return usageError{fmt.Errorf("%w\nhint: --port 0 takes a free port", err)}
	}
	token := ui.NewToken()
	fmt.Fprintf(o.stdout, "http://%s/?token=%s\n", l.Addr(), token)
	fmt.Fprintln(o.stderr, "ovnctl: open this address in a browser; Ctrl-C ends it")
	if err := ui.Serve(ctx, l, s, token); err != nil {
		return unknownError{err}
	}
	return nil
}

// browsed answers what the page asks. Each answer opens the source anew, so that it is of now.
type browsed struct {
	*options
	record string // its directory, if the source is one
	until  string // the moment at which it ends
}

// look returns the options for one answer.
func (s *browsed) look(at string) *options {
	side := *s.options
	side.stderr = io.Discard // what could not be read is on the page
	if at != "" && s.record != "" {
		side.offline = s.record + "@" + at
	}
	return &side
}

// question tells an error of who asked from others.
func question(err error) error {
	if _, ok := errors.AsType[usageError](err); ok {
		return ui.Question{Err: err}
	}
	return err
}

// Page implements ui.Answers.
func (s *browsed) Page(ctx context.Context, at string) (p *page.Page, err error) {
	r := &reportOptions{options: s.look(at), title: cmp.Or(s.offline, "This deployment")}
	c, err := r.openToFix(ctx)
	if err != nil {
		return nil, question(err)
	}
	defer r.close(c, &err)
	if p, err = r.page(ctx, c); err != nil {
		return nil, question(err)
	}
	p.Live = &page.Live{At: at, Saved: s.offline != ""}
	p.Live.Moments, err = s.moments(ctx)
	return p, err
}

// moments are those at which the Northbound changed, and the end.
func (s *browsed) moments(ctx context.Context) ([]page.Moment, error) {
	if s.record == "" {
		return nil, nil
	}
	r, err := record.Open(s.record)
	if err != nil {
		return nil, unknownError{err}
	}
	defer r.Close() //nolint:errcheck // only read
	from, _ := r.Span()
	to, err := r.Moment(s.until)
	if err != nil {
		return nil, ui.Question{Err: err}
	}
	all, err := r.Moments(ctx, from, to)
	if err != nil {
		return nil, unknownError{err}
	}
	moments := []page.Moment{{At: from.Local().Format(record.TimeFormat), Text: from.Local().Format(record.TimeFormat) + "  the beginning"}}
	for _, m := range all {
		if text := rowsText(m.Rows); path.Base(m.Database) == "nb.db" && text != "" {
			at := m.Time.Local().Format(record.TimeFormat)
			moments = append(moments, page.Moment{At: at, Text: at + "  " + zoneText(m.Database) + text})
		}
	}
	return append(moments, page.Moment{Text: to.Local().Format(record.TimeFormat) + "  the end"}), nil
}

// Path implements ui.Answers.
func (s *browsed) Path(ctx context.Context, at, from, to, protocol string) (p page.Path, err error) {
	a := asked{from: from, to: to}
	if protocol != "" {
		if err := a.Set(protocol); err != nil {
			return p, ui.Question{Err: err}
		}
	}
	r := &reportOptions{options: s.look(at)}
	c, err := r.open(ctx)
	if err != nil {
		return p, question(err)
	}
	defer r.close(c, &err)
	p, err = r.path(ctx, c, a)
	return p, question(err)
}

// Reach implements ui.Answers.
func (s *browsed) Reach(ctx context.Context, at, protocol string) (m *picture.Picture, err error) {
	r := &reportOptions{options: s.look(at)}
	if err := r.reach.Set(cmp.Or(protocol, "icmp")); err != nil {
		return nil, ui.Question{Err: err}
	}
	c, err := r.open(ctx)
	if err != nil {
		return nil, question(err)
	}
	defer r.close(c, &err)
	g, err := topology.Load(ctx, c)
	if err != nil {
		return nil, unknownError{err}
	}
	m, err = r.matrix(ctx, c, g)
	return m, question(err)
}

// mostOffered is how many names are offered.
const mostOffered = 50

// Names implements ui.Answers.
func (s *browsed) Names(ctx context.Context, at, word string) (names []string, err error) {
	o := s.look(at)
	c, err := o.openDatabases(ctx)
	if err != nil {
		return nil, question(err)
	}
	defer o.close(c, &err)
	g, err := topology.Load(ctx, c)
	if err != nil {
		return nil, unknownError{err}
	}
	names = []string{}
	for _, name := range g.Completions(word, topology.Endpoints...) {
		if name == render.Clean(name) && len(names) < mostOffered {
			names = append(names, name)
		}
	}
	return names, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ovnctl/ovnctl/pkg/archive/anonymize"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/replica"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

type watchOptions struct {
	*options
	kinds   []string
	end     time.Duration
	keeping keeping
	list    string
	redact  string
}

func newWatch(root *options) *cobra.Command {
	o := &watchOptions{options: root, keeping: keeping{maxSize: 2 << 30, maxAge: 48 * time.Hour, every: time.Minute}}
	cmd := &cobra.Command{
		Use:   "watch [OBJECT...]",
		Short: "Show what is happening, as it happens",
		Long: `watch follows the Northbound and the Southbound and shows changes as events: a
line each, with the time, the object, what happened and what follows. It goes on
until interrupted, through restarts of the servers and changes of leader.

Kinds of events:
` + watchKindsHelp() + `
An OBJECT limits them to those with a part in: a pod as NAMESPACE/POD, all of a
NAMESPACE/, a port, chassis, load balancer, VIP, rule's owner or address, by its
name or a pattern as shop/web-*. Events about the databases are always shown.

-o json prints a document per line.

--keep DIR also records: both databases with every change, and what the nodes
reply, at least once a minute and after changes. Other commands read any moment
of a record with --offline DIR@09:12, DIR@2026-11-26T09:12:03 or DIR@-15m, and
ovnctl blame finds when a path broke in it. --list DIR shows what is in one, and
--redact DIR COPY copies it without names and addresses.
` + exitStatusHelp,
		Example: `  ovnctl watch
  ovnctl watch shop/ --for 10m
  ovnctl watch shop/web-1 node2
  ovnctl watch --kind port,gateway -o json
  ovnctl watch --keep /var/lib/ovnctl/record --max-size 2G --max-age 48h
  ovnctl watch --list /var/lib/ovnctl/record
  ovnctl watch --redact /var/lib/ovnctl/record case
  ovnctl trace shop/client shop/web-1 --offline /var/lib/ovnctl/record@09:12`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if o.redact != "" {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return o.completeNames(cmd, word, topology.Objects...)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.keeping.check(cmd.Flags()); err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.kinds, "kind", nil, "only events of these `kinds`, comma separated")
	f.Var((*seconds)(&o.end), "for", "end after this many `seconds`, or a time as 10m")
	o.keeping.addFlags(f)
	f.StringVar(&o.list, "list", "", "show what the record in `directory` has, instead")
	f.StringVar(&o.redact, "redact", "", "copy the record in `directory` with all names, addresses and UUIDs replaced by pseudonyms, the same everywhere, instead")
	cmd.MarkFlagsMutuallyExclusive("keep", "list", "redact")
	if err := cmd.RegisterFlagCompletionFunc("kind", completeWords(watchKinds()...)); err != nil {
		panic(err) // the flag is added above
	}
	return cmd
}

func watchKinds() []string {
	var names []string
	for _, k := range watch.Kinds {
		names = append(names, string(k.Kind))
	}
	return names
}

// watchKindsHelp lists the kinds for the help.
func watchKindsHelp() string {
	var b strings.Builder
	for _, k := range watch.Kinds {
		fmt.Fprintf(&b, "  %-14s %s\n", k.Kind, k.About)
	}
	return b.String()
}

// filter returns what the flags and arguments select.
func (o *watchOptions) filter(objects []string) (watch.Filter, error) {
	f := watch.Filter{Objects: objects}
	for _, name := range o.kinds {
		kind, ok := watch.KindOf(name)
		if !ok {
			return f, usageError{fmt.Errorf("--kind %q: expected some of %s", name, strings.Join(watchKinds(), ", "))}
		}
		f.Kinds = append(f.Kinds, kind)
	}
	return f, nil
}

func (o *watchOptions) run(ctx context.Context, objects []string) (err error) {
	format, err := o.format(watchFormats...)
	if err != nil {
		return err
	}
	switch {
	case o.list != "":
		return o.listRecord(ctx, o.list)
	case o.redact != "" && len(objects) != 1:
		return usageError{errors.New("--redact: expected a directory for the copy\nhint: ovnctl watch --redact RECORD COPY")}
	case o.redact != "":
		if err := o.redactRecord(ctx, o.redact, objects[0], anonymize.New()); err != nil {
			return err
		}
		return o.listRecord(ctx, objects[0])
	}
	filter, err := o.filter(objects)
	if err != nil {
		return err
	}
	if o.offline != "" {
		return usageError{errors.New("watch needs a live deployment: a capture does not change\nhint: ovnctl compare shows what differs between two captures")}
	}
	c, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	o.warn(c)
	databases := watched(c)
	if len(databases) == 0 {
		return unknownError{errors.New("neither the Northbound nor the Southbound can be read\nhint: --nb REMOTE and --sb REMOTE name them")}
	}
	if o.end > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.end)
		defer cancel()
	}
	show := o.line
	if format == "json" {
		show = o.document
	}
	kept := func() error { return nil }
	if o.keeping.dir != "" {
		if ctx, kept, err = o.startKeeping(ctx, c); err != nil {
			return err
		}
	}
	failed, err := o.events(ctx, databases, func(e watch.Event) error {
		if !filter.Match(e) {
			return nil
		}
		return show(e)
	})
	if kerr := kept(); err == nil {
		err = kerr
	}
	if err == nil && (failed || len(c.Problems) > 0) {
		err = verdict(exitUnknown)
	}
	return err
}

// A watchedDatabase is a database to follow, with what makes events of its changes.
type watchedDatabase struct {
	client  *ovsdb.Client
	rows    []ovsdb.Row
	watcher *watch.Watcher
}

// watched returns the databases of all zones. Zones have names if there are several.
func watched(c *cluster.Cluster) []watchedDatabase {
	var all []watchedDatabase
	for _, z := range c.Zones {
		name := z.Name
		if len(c.Zones) == 1 {
			name = ""
		}
		w := watch.New(name)
		for _, db := range []struct {
			reader ovsdb.Reader
			rows   []ovsdb.Row
		}{{z.NB, watch.Northbound}, {z.SB, watch.Southbound}} {
			if client, ok := db.reader.(*ovsdb.Client); ok {
				all = append(all, watchedDatabase{client, db.rows, w})
			}
		}
	}
	return all
}

// events shows events until the context ends, and reports whether a database could not be followed.
func (o *options) events(ctx context.Context, databases []watchedDatabase, show func(watch.Event) error) (failed bool, err error) {
	o.keepMuch()
	ctx, cancel := context.WithCancel(ctx)
	type update struct {
		database *watchedDatabase
		replica.Update
	}
	updates := make(chan update)
	ended := make(chan error)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	for i := range databases {
		db := &databases[i]
		followers.Go(func() {
			err := replica.Follow(ctx, db.client, db.rows, func(u replica.Update) {
				select {
				case updates <- update{db, u}:
				case <-ctx.Done():
				}
			})
			select {
			case ended <- err:
			case <-ctx.Done():
			}
		})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	loaded := false
	for left := len(databases); left > 0; {
		var events []watch.Event
		select {
		case <-ctx.Done():
			return failed, nil
		case err := <-ended:
			left--
			if err != nil {
				failed = true
				fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(err.Error()))
			}
		case u := <-updates:
			if u.State == replica.Initial {
				loaded = true
				fmt.Fprintf(o.stderr, "ovnctl: watching %s at %s\n", u.database.client.Name(), render.Clean(u.Origin))
			}
			events = u.database.watcher.Take(u.database.client.Name(), u.Update)
		case now := <-tick.C:
			if loaded { // what the first rows came in is not needed any more
				loaded = false
				debug.FreeOSMemory()
			}
			for i := range databases {
				if i == 0 || databases[i].watcher != databases[i-1].watcher {
					events = append(events, databases[i].watcher.Tick(now)...)
				}
			}
		}
		for _, e := range events {
			if err := show(e); err != nil {
				return failed, err
			}
		}
	}
	return failed, nil
}

// A lookout says when to look at something again that the databases have a part in.
type lookout struct {
	pause time.Duration // the longest between two looks
	after time.Duration // from a change in the databases to the look at what came of it
	again time.Duration // how long after a change looks go on at that pace: the nodes take time to carry it out
	share int           // looks take at most one in so many parts of the time, but two in three as long as again says, and when something changes
	cheap bool          // while nothing changes, looks take at most a hundredth of a processor, with longer pauses if need be
}

// longestRest bounds the pause after a look that took long: it may have waited for what does not reply, and what has cleared
// is to be told.
const longestRest = 30 * time.Second

// keep looks until the context ends. Note is told of the events, also while it looks. Touched, which may be nil, follows what looks read.
func (o *options) keep(ctx context.Context, c *cluster.Cluster, l lookout, touched touched, note func(watch.Event), look func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	news := make(bell, 1)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	followers.Go(func() {
		_, _ = o.events(ctx, watched(c), func(e watch.Event) error {
			note(e)
			news.ring(e.Time)
			return nil
		})
	})
	for _, t := range touched {
		followers.Go(func() {
			_ = t.Follow(ctx, t.client, func(tables []string) { // if it cannot, all is read each time
				if len(tables) == 0 || slices.ContainsFunc(tables, stirring) {
					news.ring(time.Now())
				}
			}, snapshot.Structs(t.client.Name())...)
		})
	}
	return l.run(ctx, news, look)
}

// touched follows what changes in databases, for looks that read again only that.
type touched map[snapshot.Database]*touchedDatabase

type touchedDatabase struct {
	ovsdb.Touched
	client *ovsdb.Client
}

// touches returns what follows the databases of a deployment that servers have.
func touches(c *cluster.Cluster) touched {
	all := touched{}
	for _, z := range c.Zones {
		for _, db := range []ovsdb.Reader{z.NB, z.SB} {
			if client, ok := db.(*ovsdb.Client); ok {
				all[snapshot.Database{Zone: z.Name, Name: client.Name()}] = &touchedDatabase{client: client}
			}
		}
	}
	return all
}

// same reports whether tables are surely as they were.
func (t touched) same(of snapshot.Database, at time.Time, tables []string) bool {
	return t[of] != nil && t[of].Same(at, tables...)
}

// stirring reports whether a change of a table calls for a look. The others change all the time: with the number of connections,
// and the age of what was learned, of which watch tells what matters.
func stirring(table string) bool {
	return !slices.Contains([]string{"Connection", "MAC_Binding", "FDB", "Service_Monitor"}, table)
}

// processorTime is what this process has used so far, getrusage(2).
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A bell has room for the time of one that is not answered by a look yet.
type bell chan time.Time

func (c bell) ring(t time.Time) {
	select {
	case c <- t:
	default:
	}
}

// run looks until the context ends.
func (l lookout) run(ctx context.Context, news bell, look func(context.Context) error) error {
	next := time.NewTimer(l.pause)
	defer next.Stop()
	var changed, rested time.Time // of the last change; from when on the next look after one is due
	pending := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case changed = <-news:
			if !pending { // a stream of changes must not put off the look
				pending = true
				next.Reset(max(l.after, time.Until(rested)))
			}
		case <-next.C:
			pending = false
			began, used := time.Now(), processorTime()
			if err := look(ctx); err != nil && ctx.Err() == nil {
				return err
			}
			took := time.Since(began)
			rest, wait := min(took*time.Duration(l.share-1), longestRest), l.pause
			if time.Since(changed) < l.again {
				rest, wait = took/2, min(l.pause, l.after)
			}
			rested = time.Now().Add(rest)
			if l.again > 0 {
				rested = time.Now().Add(took / 2)
			}
			if l.cheap {
				wait = max(wait, 120*(processorTime()-used)) // the rest is for following the databases
			}
			next.Reset(max(wait, rest))
		}
	}
}

// line prints an event for people.
func (o *watchOptions) line(e watch.Event) error {
	_, err := fmt.Fprintln(o.stdout, eventText(e))
	return err
}

// eventText formats an event.
func eventText(e watch.Event) string {
	text := e.Object + ": " + e.Message
	if e.Zone != "" {
		text = "zone " + e.Zone + ": " + text
	}
	if e.By != "" && !strings.Contains(text, e.By) {
		text += " (" + e.By + ")"
	}
	if e.Effect != "" {
		text += "; " + e.Effect
	}
	return e.Time.Format(clock) + "  " + render.Clean(text)
}

// clock is the time of an event for people.
const clock = "15:04:05.000"

// An eventDocument is one line of -o json.
type eventDocument struct {
	APIVersion   string `json:"apiVersion"`
	DocumentKind string `json:"kind"`
	watch.Event
}

// document prints an event for programs.
func (o *watchOptions) document(e watch.Event) error {
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	return render.JSONLine(o.stdout, eventDocument{document.APIVersion, "Event", e})
}

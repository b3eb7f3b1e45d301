package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/memory"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/record"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// Exit codes, the same for every output format.
const (
	exitOK      = 0
	exitFound   = 1 // a finding, an undelivered packet, a difference
	exitUsage   = 2
	exitUnknown = 3 // a named source, or the local one, could not be read
	exitFix     = 4 // a fix failed or was rolled back
)

const exitStatusHelp = `
Exit status:
  0  healthy, delivered, shown; warnings too, unless --fail-on says otherwise
  1  an error found, not delivered, a difference
  2  usage
  3  could not tell: a source that was named, or the local one, could not be
     read, or only in part. What was read is shown; if that says 1, it is 1
  4  a fix was refused, failed or was rolled back`

// options are the flags common to all commands.
type options struct {
	nb, sb, ovs  string
	tls          ovsdb.TLSFiles
	noLeaderOnly bool
	offline      string
	nodeExec     string
	via          string
	kubernetes   kubeFlags
	way          node.Way // to other nodes, by --node-exec or --via; nil: there is none
	hostRoot     string
	calledFrom   string // by whom this command runs another one on another node: how ovnctl is called there, with its source; empty: here
	record       string
	output       string
	color        string
	timeout      time.Duration
	memory       int64
	maxReply     int // bytes of one reply of a database; 0 for the default
	showCommands bool

	stdin  io.Reader
	stdout *stream
	stderr io.Writer

	interruptible func(context.Context) context.Context // heeds the signals to the process from then on; nil: they are somebody else's

	running bool // the command has started: earlier failures are usage errors
}

// run is the program without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&options{stdin: stdin, stdout: &stream{Writer: stdout}, stderr: stderr}).execute(ctx, args)
}

// execute runs the command that the arguments name and returns the exit code.
func (o *options) execute(ctx context.Context, args []string) int {
	root := newRoot(o, calledFor(args))
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: calledAs(os.Args[0])}
	root.SetArgs(args)
	root.SetIn(o.stdin)
	root.SetOut(o.stdout)
	root.SetErr(o.stderr)
	o.output = askedFormat(args)
	cmd, err := root.ExecuteContextC(ctx)
	if o.stdout.err != nil {
		err = unknownError{fmt.Errorf("standard output: %w", o.stdout.err)}
	}
	return o.report(cmd.Context(), err)
}

// calledAs returns the command as users type it: a kubectl plugin's file has another name.
func calledAs(file string) string {
	if plugin, ok := strings.CutPrefix(filepath.Base(file), "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "ovnctl"
}

// askedFormat finds the output format before flags are parsed, so that flag errors use it too.
func askedFormat(args []string) string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.SetOutput(io.Discard)
	format := f.StringP("output", "o", "", "")
	for i := range args { // one by one: any value may be missing
		if strings.HasPrefix(args[i], "-o") || strings.HasPrefix(args[i], "--output") {
			_ = f.Parse(args[i:min(i+2, len(args))])
		}
	}
	return *format
}

// A stream is standard output. It knows whether a document was started, after which no other may follow, and keeps a
// write error that nobody checked.
type stream struct {
	io.Writer
	begun bool
	err   error
}

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	s.begun = s.begun || n > 0
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

// A builder builds the command that it names.
type builder struct {
	name  string
	build func(*options) *cobra.Command
}

// commands are the builders of all commands, in the groups that the help lists.
var commands = []struct {
	title    string
	builders []builder
}{
	{"What is there, and where packets go:", []builder{{"topology", newTopology}, {"get", newGet}, {"trace", newTrace}, {"reach", newReach}, {"flows", newFlows}}},
	{"What is broken:", []builder{{"doctor", newDoctor}, {"fix", newFix}, {"watch", newWatch}, {"blame", newBlame}}},
	{"Captures and reports:", []builder{{"capture", newCapture}, {"compare", newCompare}, {"report", newReport}, {"ui", newUI}, {"demo", newDemo}}},
	{"What it means:", []builder{{"decode", newDecode}, {"explain", newExplain}}},
	{"", []builder{{"version", newVersion}, {"probe", newProbe}, {"answer", newAnswer}}},
}

// calledFor returns the command that the arguments begin with; empty if it takes more than them to tell.
func calledFor(args []string) string {
	for _, group := range commands {
		if len(args) > 0 && slices.ContainsFunc(group.builders, func(b builder) bool { return b.name == args[0] }) {
			return args[0]
		}
	}
	return ""
}

// newRoot returns the program's command with all others, or with only one of them: to build all takes longer than many a command.
func newRoot(o *options, only string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ovnctl",
		Short: "Show, trace and repair deployments of Open vSwitch and OVN",
		Long: `ovnctl shows the topology of an Open vSwitch or OVN deployment, follows a packet
through it, names what stops the packet, and finds and repairs faults. It reads
the Northbound, Southbound and Open_vSwitch databases and the daemons' control
sockets itself: it needs no OVS or OVN command-line tools.
` + exitStatusHelp,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		Args:              cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if o.output != "" && textOnly(cmd) {
				return fmt.Errorf("%s prints text only: leave out -o", cmd.CommandPath())
			}
			if err := o.prepare(cmd.Flags()); err != nil || readsNothing(cmd) {
				return err
			}
			o.limitMemory(cmd.Flags().Changed("memory"))
			if o.interruptible != nil {
				cmd.SetContext(o.interruptible(cmd.Context()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nhint: %s", flagError(err), flagHint(cmd, err))
	})
	o.addFlags(root.PersistentFlags())
	for _, group := range commands {
		if group.title != "" {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		}
		for _, b := range group.builders {
			if only == "" || only == b.name {
				c := b.build(o)
				c.GroupID = group.title
				root.AddCommand(c)
			}
		}
	}
	root.CompletionOptions.DisableDefaultCmd = only != ""
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	addCompletion(root)
	for flag, complete := range map[string]cobra.CompletionFunc{
		"offline": completeOffline, "output": completeFormats, "color": completeWords("auto", "always", "never"), "via": completeWords(presetNames()...),
	} {
		if err := root.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flags are added above
		}
	}
	o.mark(root)
	return root
}

// textOnly reports whether a command has no output format.
func textOnly(cmd *cobra.Command) bool {
	return cmd.Name() == "help" || cmd.HasParent() && cmd.Parent().Name() == "completion"
}

// readsNothing reports whether a command prints what it has itself: nothing needs a limit, and a signal may end it anywhere.
func readsNothing(cmd *cobra.Command) bool {
	whole := cmd.Flag("cluster")
	return textOnly(cmd) || cmd.Name() == "version" && whole != nil && whole.Value.String() == "false"
}

// otherFlags are flags of ovn-nbctl, ovs-ofctl and kubectl, with what ovnctl has for them.
var otherFlags = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"db":             "--nb REMOTE, --sb REMOTE or --ovs REMOTE names a database",
		"n":              "the namespace is part of the name: shop/client, or pod/client where only one has it",
		"namespace":      "the namespace is part of the name: shop/client, or pod/client where only one has it",
		"A":              "all namespaces are read: name a namespace as shop/",
		"all-namespaces": "all namespaces are read: name a namespace as shop/",
		"context":        "kubectl ovnctl is ovnctl with kubectl's flags; ovnctl itself takes --via kubectl",
		"kubeconfig":     "kubectl ovnctl is ovnctl with kubectl's flags; ovnctl itself takes --via kubectl",
		"l":              "ovnctl get KIND -l KEY=VALUE and ovnctl reach label:KEY=VALUE TO select by label",
		"selector":       "ovnctl get KIND -l KEY=VALUE and ovnctl reach label:KEY=VALUE TO select by label",
	}
}}

// flagError words what is wrong with a flag's value.
func flagError(err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	why, kind := value.Unwrap(), value.GetFlag().Value.Type()
	switch {
	case errors.Is(why, strconv.ErrRange):
		why = errors.New("it is out of range")
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		why = errors.New("expected a whole number")
	case kind == "bool":
		why = errors.New("expected true or false")
	case kind == "duration":
		why = errors.New("expected a time, as 90s or 5m")
	}
	return fmt.Errorf("--%s %q: %w", value.GetFlag().Name, value.GetValue(), why)
}

// flagHint returns the hint for a flag that was not understood.
func flagHint(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if hint := otherFlags.Get()[unknown.GetSpecifiedName()]; hint != "" {
			return hint
		}
	}
	return cmd.CommandPath() + " --help lists the flags"
}

// newHelp is cobra's help, except that help on an unknown command is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = unknownCommand(about, rest[0])
			}
			if err != nil {
				return usageError{err}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// addCompletion adds cobra's command, except that an unknown shell is an error, and that its help fits 80 columns.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = nil
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{unknownCommand(cmd, args[0])}
			}
			return cmd.Help()
		}
		for _, shell := range c.Commands() {
			shell.Long = strings.ReplaceAll(shell.Long, "you can install it via your OS's package manager", "your system has it as a package")
		}
	}
}

// unknownCommand suggests what was probably meant.
func unknownCommand(parent *cobra.Command, name string) error {
	near := nearCommands(parent, name)
	if near == "" {
		return fmt.Errorf("unknown command %q for %q\nhint: %s --help lists the commands", name, parent.CommandPath(), parent.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q\nhint: did you mean %s?", name, parent.CommandPath(), near)
}

// nearCommands names the commands below another one that a word resembles; empty if there are none.
func nearCommands(parent *cobra.Command, word string) string {
	var near []string
	parent.SuggestionsMinimumDistance = 2
	for _, s := range parent.SuggestionsFor(word) {
		near = append(near, parent.CommandPath()+" "+s)
	}
	return strings.Join(near, " or ")
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.nb, "nb", "", "Northbound `remotes`: unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT, comma separated (default $OVN_NB_DB)")
	f.StringVar(&o.sb, "sb", "", "Southbound `remotes` (default $OVN_SB_DB)")
	f.StringVar(&o.ovs, "ovs", "", "Open_vSwitch `remotes` of this node (default $OVS_RUNDIR/db.sock)")
	f.StringVarP(&o.tls.PrivateKey, "private-key", "p", "", "private key `file` for ssl remotes")
	f.StringVarP(&o.tls.Certificate, "certificate", "c", "", "certificate `file` for ssl remotes")
	f.StringVarP(&o.tls.CACert, "ca-cert", "C", "", "CA certificate `file` for ssl remotes")
	f.StringVar(&o.tls.ServerName, "ssl-server-name", "", "also check that the server's certificate is for this `name`")
	f.BoolVar(&o.noLeaderOnly, "no-leader-only", false, "accept any member of a RAFT cluster without looking for the leader first")
	f.StringVar(&o.offline, "offline", "", "read a capture, archive, directory, database file or record at this `path` instead of a live deployment; of a record DIR@09:12 or DIR@-15m; demo is one in the program, see ovnctl demo")
	f.StringVar(&o.nodeExec, "node-exec", "", "command `prefix` that runs a command on another node, as 'ssh {hostname}'")
	f.StringVar(&o.via, "via", "", "ready `way` to other nodes: "+strings.Join(presetNames(), ", "))
	o.kubernetes.addFlags(f)
	f.StringVar(&o.hostRoot, "host-root", "", "`directory` under which the host's file system is mounted")
	f.StringVar(&o.calledFrom, "called-from", "", "how the operator at the other end of a connection calls ovnctl: commands are printed for them")
	_ = f.MarkHidden("called-from")
	f.StringVar(&o.record, "record", "", "also save the replies of the nodes in `directory`, for --offline")
	f.StringVarP(&o.output, "output", "o", "", "output `format`")
	f.StringVar(&o.color, "color", "auto", "colour: auto, always or never")
	o.timeout = 10 * time.Second
	f.VarP((*seconds)(&o.timeout), "timeout", "t", "give up on a source after this many `seconds`")
	o.memory = 2 << 30
	f.Var((*byteSize)(&o.memory), "memory", "leave out what does not fit into this many `bytes`, with K, M or G; 0 for no limit. Never more than the control group allows")
	f.BoolVar(&o.showCommands, "show-commands", false, "print the classic commands that show the same")
}

// prepare checks the flags common to all commands, and reports their groups more clearly than cobra.
func (o *options) prepare(flags *pflag.FlagSet) error {
	switch o.color {
	case "auto", "always", "never":
	default:
		return fmt.Errorf("--color %q: expected auto, always or never", o.color)
	}
	if err := exclusive(flags); err != nil {
		return err
	}
	for name, remotes := range map[string]string{"nb": o.nb, "sb": o.sb, "ovs": o.ovs} {
		if err := ovsdb.CheckRemotes(remotes); flags.Changed(name) && err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	against := flags.Lookup("against")
	alsoLive := against != nil && against.Value.String() == live
	for _, name := range []string{"nb", "sb", "ovs", "node-exec", "via", "context", "kubeconfig"} {
		if o.offline != "" && flags.Changed(name) && !alsoLive {
			return fmt.Errorf("--offline reads saved data and --%s names a live source: give one of the two", name)
		}
	}
	if err := o.chooseWay(); err != nil {
		return err
	}
	// A repair's watchdog runs in another directory; paths from the environment are absolute.
	for _, path := range []*string{&o.hostRoot, &o.tls.PrivateKey, &o.tls.Certificate, &o.tls.CACert} {
		if *path == "" {
			continue
		}
		whole, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("%s: %w", *path, err)
		}
		*path = whole
	}
	return nil
}

// Without --memory, a process uses more than thrifty only for what it needs at once, and reads no larger reply of a
// database than half of that.
const thrifty = 256 << 20

// limitMemory bounds what is read in total, and what one reply of a database may take. A control group's limit holds in any
// case, with a quarter left for what the kernel counts beside.
func (o *options) limitMemory(chosen bool) {
	if o.memory == 0 {
		o.memory = math.MaxInt64
		o.maxReply = 0
	} else {
		group := memory.Group()
		o.memory = min(o.memory, group-group/4)
		o.maxReply = int(o.memory / 2) // as text, and the rows of it
	}
	memory.SetLimit(o.memory)
	soft := o.memory
	if !chosen {
		soft = min(soft, thrifty)
		o.maxReply = min(o.maxReply, thrifty/2)
	}
	if chosen || os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(soft)
	}
}

// keepMuch fits the limits to a process that goes on, or reads many nodes: garbage is collected as it grows, and the soft limit is that
// of --memory. One below what is kept would have it collect without a pause.
func (o *options) keepMuch() {
	debug.SetGCPercent(25)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(o.memory)
	}
}

// exclusive is the error for two mutually exclusive flags.
func exclusive(flags *pflag.FlagSet) error {
	const annotation = "cobra_annotation_mutually_exclusive"
	given := map[string]string{}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[annotation] {
			if other, ok := given[group]; ok && err == nil {
				err = fmt.Errorf("--%s and --%s exclude each other: give one of the two", other, f.Name)
			}
			given[group] = f.Name
		}
	})
	return err
}

// open finds and dials the deployment that the flags name.
func (o *options) open(ctx context.Context) (*cluster.Cluster, error) {
	return o.openWith(ctx, cluster.Config{})
}

// openOwn is open for questions about one node: the zones of other nodes are opened when they are named.
func (o *options) openOwn(ctx context.Context) (*cluster.Cluster, error) {
	return o.openWith(ctx, cluster.Config{OwnZone: true})
}

// openDatabases is open for questions that the databases answer, those of the nodes too.
func (o *options) openDatabases(ctx context.Context) (*cluster.Cluster, error) {
	return o.openWith(ctx, cluster.Config{DatabasesOnly: true})
}

// openBroken is open for troubleshooting: a host whose databases are all down is a deployment, too.
func (o *options) openBroken(ctx context.Context) (*cluster.Cluster, error) {
	return o.openWith(ctx, cluster.Config{Alone: true})
}

func (o *options) openWith(ctx context.Context, config cluster.Config) (*cluster.Cluster, error) {
	if o.way == nil && o.offline == "" {
		way, err := o.kubernetes.way(o)
		if err != nil {
			return nil, unknownError{err}
		}
		o.way = way
	}
	config.NB, config.SB, config.OVS, config.TLS, config.NoLeaderOnly = o.nb, o.sb, o.ovs, o.tls, o.noLeaderOnly
	config.Offline, config.Way, config.HostRoot, config.Timeout, config.Record = o.offline, o.way, o.hostRoot, o.timeout, o.record
	config.MaxReply, config.Version = o.maxReply, released()
	if config.Saved == nil {
		saved, err := o.saved(ctx)
		if err != nil {
			return nil, err
		}
		config.Saved = saved
	}
	c, err := cluster.Open(ctx, config)
	if err != nil {
		return nil, unknownError{err}
	}
	return c, nil
}

// saved opens what --offline names if only this program knows the name: a built-in capture, or a moment of a record; nil if it
// is the path of something else.
func (o *options) saved(ctx context.Context) (*archive.Tree, error) {
	if saved, ok := demo.Capture(o.offline); ok {
		tree, err := archive.Read(ctx, o.offline, bytes.NewReader(saved))
		if err != nil {
			return nil, unknownError{err}
		}
		return tree, nil
	}
	if dir, moment, ok := record.Split(o.offline); ok {
		return openMoment(ctx, dir, moment)
	}
	return nil, nil //nolint:nilnil // the path is enough
}

// fixCommand returns the command of a repair with the flags that name this command's source: it can be run as it is
// printed. What was read from saved data is repaired on the live deployment, which has other flags.
func (o *options) fixCommand(c *fixes.Call) string {
	if o.offline != "" {
		return c.Command()
	}
	return o.withSource(c.Command())
}

// sameSource adds to an ovnctl command to run next the flags that name this one's source. A repair needs running daemons.
func (o *options) sameSource(command string) string {
	if strings.HasPrefix(command, "ovnctl fix ") {
		return command
	}
	return o.withSource(command)
}

// A sourceFlag is a flag that names what to read, and its value.
type sourceFlag struct{ name, value string }

func (o *options) withSource(command string) string {
	rest, ok := strings.CutPrefix(command, "ovnctl ")
	if !ok {
		return command
	}
	if o.calledFrom != "" {
		return o.calledFrom + " " + rest
	}
	words := strings.Fields(calledAs(os.Args[0]))
	for _, flag := range append([]sourceFlag{
		{"--offline", o.offline}, {"--nb", o.nb}, {"--sb", o.sb}, {"--ovs", o.ovs}, {"--private-key", o.tls.PrivateKey},
		{"--certificate", o.tls.Certificate}, {"--ca-cert", o.tls.CACert}, {"--ssl-server-name", o.tls.ServerName},
		{"--node-exec", o.nodeExec}, {"--via", o.via}, {"--host-root", o.hostRoot},
	}, o.kubernetes.source()...) {
		if flag.value != "" && !strings.Contains(rest, flag.name) {
			words = append(words, flag.name, flag.value)
		}
	}
	return cause.Shell(words...) + " " + rest
}

// close ends the connections of a command that ends with *err. An incomplete recording makes it fail: the output
// stands, but --offline will lack data.
func (o *options) close(c *cluster.Cluster, err *error) {
	incomplete := c.Close()
	if o.record == "" || incomplete == nil {
		return
	}
	fmt.Fprintf(o.stderr, "ovnctl: --record %s: %s\n", render.Clean(o.record), render.CleanLines(incomplete.Error()))
	if *err == nil {
		*err = verdict(exitUnknown)
	}
}

// format returns the output format, which must be one of allowed; the first is
// the default.
func (o *options) format(allowed ...string) (string, error) {
	if o.output == "" {
		return allowed[0], nil
	}
	for _, a := range allowed {
		if o.output == a {
			return a, nil
		}
	}
	return "", usageError{fmt.Errorf("output format %q: expected one of %s", o.output, strings.Join(allowed, ", "))}
}

// machine reports whether a program reads standard output.
func (o *options) machine() bool { return o.output == "json" || o.output == "yaml" }

// A usageError is the user's mistake: a wrong flag, name or combination.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// An unknownError means that a source could not be read, so there is no result.
type unknownError struct{ error }

func (e unknownError) Unwrap() error { return e.error }

// A verdict is the exit code of a command that has printed its result.
type verdict int

func (v verdict) Error() string { return "exit status " + strconv.Itoa(int(v)) }

// report prints err where the user expects it and returns the exit code.
func (o *options) report(ctx context.Context, err error) int {
	var v verdict
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &v):
		return int(v)
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	if name, ok := errors.AsType[*topology.NameError](err); ok && len(name.Matches) == 0 && !strings.Contains(err.Error(), "\nhint: ") {
		err = fmt.Errorf("%w\nhint: %s lists the names of ports; get has the other kinds", err, o.withSource("ovnctl get ports"))
	}
	code := exitUnknown
	var usage usageError
	var unknown unknownError
	var fix fixError
	if errors.As(err, &fix) {
		code = exitFix
	}
	if errors.As(err, &usage) || !o.running && !errors.As(err, &unknown) {
		code = exitUsage
	}
	if o.machine() && !o.stdout.begun && o.stdout.err == nil {
		// Write a document to standard output even now, so that programs need not parse text.
		if werr := render.Write(o.stdout, o.output, document.NewFailure(err, code)); werr != nil {
			fmt.Fprintf(o.stderr, "ovnctl: standard output: %s\n", render.Clean(werr.Error()))
		}
	}
	fmt.Fprintln(o.stderr, o.style(o.stderr).Message("ovnctl: "+err.Error()))
	return code
}

// mark makes cmd and its children record that they run, and adds usage to argument errors.
func (o *options) mark(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			o.running = true
			return run(c, args)
		}
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			switch {
			case err == nil:
				return nil
			case c.HasAvailableSubCommands():
				return unknownCommand(c, args[0])
			}
			return fmt.Errorf("%w\nhint: %s", err, c.UseLine())
		}
	}
	for _, c := range cmd.Commands() {
		o.mark(c)
	}
}

// seconds is a flag that takes whole or fractional seconds, like the C tools, or a Go duration.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "seconds" }

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseFloat(text, 64); nerr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 || d > 24*time.Hour {
		return errors.New("expected seconds, as 5 or 0.5")
	}
	*s = seconds(d)
	return nil
}

// port is a flag that takes a TCP or UDP port.
type port int

func (p *port) String() string { return strconv.Itoa(int(*p)) }
func (p *port) Type() string   { return "port" }

func (p *port) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return errors.New("expected 1 to 65535")
	}
	*p = port(n)
	return nil
}

// oncePort is a port that may be given once: of two, one would be ignored.
type oncePort int

func (p *oncePort) String() string { return strconv.Itoa(int(*p)) }
func (p *oncePort) Type() string   { return "port" }

func (p *oncePort) Set(text string) error {
	if *p != 0 {
		return fmt.Errorf("it was given before, as %d: one packet has one port", *p)
	}
	return (*port)(p).Set(text)
}

// byteSize is a flag that takes bytes with an optional K, M or G (powers of 1024).
type byteSize int64

func (b *byteSize) String() string {
	n, unit := int64(*b), ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

func (b *byteSize) Type() string { return "bytes" }

func (b *byteSize) Set(text string) error {
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if i := strings.IndexAny(digits, "KMG"); i >= 0 && i == len(digits)-1 {
		shift = 10 * (1 + strings.IndexByte("KMG", digits[i]))
		digits = digits[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return errors.New("expected a size, as 256M")
	}
	*b = byteSize(n << shift)
	return nil
}

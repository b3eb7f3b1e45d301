package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// Exit codes, the same for every output format.
const (
	exitOK      = 0
	exitFound   = 1 // a finding, a packet that is not delivered, a difference
	exitUsage   = 2
	exitUnknown = 3 // a source that was named, or the local one, could not be read
	exitFix     = 4 // a fix failed or was rolled back
)

const exitStatusHelp = `
Exit status:
  0  healthy, delivered, shown
  1  a finding, not delivered, a difference
  2  usage
  3  could not tell: a source could not be read
  4  a fix failed or was rolled back`

// options are the flags that every command takes.
type options struct {
	nb, sb, ovs  string
	tls          ovsdb.TLSFiles
	noLeaderOnly bool
	offline      string
	nodeExec     string
	hostRoot     string
	record       string
	output       string
	color        string
	timeout      time.Duration
	memory       int64
	showCommands bool

	stdin          io.Reader
	stdout, stderr io.Writer
}

// run is the whole program but for the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o := &options{stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(o)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return o.report(root.ExecuteContext(ctx))
}

func newRoot(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "ovnctl",
		Short: "Show, trace and mend deployments of Open vSwitch and OVN",
		Long: `ovnctl shows what an Open vSwitch or OVN deployment is made of, follows a packet
through it and says what stopped it. It reads the Northbound, Southbound and
Open_vSwitch databases and the daemons' control sockets itself and needs none of
the OVS and OVN command-line tools.
` + exitStatusHelp,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.prepare() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\nhint: %s --help lists the flags", err, cmd.CommandPath())}
	})
	o.addFlags(root.PersistentFlags())
	root.AddCommand(newTopology(o), newTrace(o))
	asUsageErrors(root)
	return root
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
	f.StringVar(&o.offline, "offline", "", "read a `path` with saved databases and dumps instead of a live deployment")
	f.StringVar(&o.nodeExec, "node-exec", "", "command `prefix` that runs a command on another node, as 'ssh {hostname}'")
	f.StringVar(&o.hostRoot, "host-root", "", "`directory` under which the host's file system is mounted")
	f.StringVar(&o.record, "record", "", "also save what the nodes answer in `directory`, for --offline")
	f.StringVarP(&o.output, "output", "o", "", "output `format`")
	f.StringVar(&o.color, "color", "auto", "colour: auto, always or never")
	o.timeout = 10 * time.Second
	f.VarP((*seconds)(&o.timeout), "timeout", "t", "give up on a source after this many `seconds`")
	o.memory = 256 << 20
	f.Var((*byteSize)(&o.memory), "memory", "soft memory limit in `bytes`, with K, M or G; 0 for none")
	f.BoolVar(&o.showCommands, "show-commands", false, "print the classic commands that show the same")
}

// prepare checks the flags that are common to all commands.
func (o *options) prepare() error {
	switch o.color {
	case "auto", "always", "never":
	default:
		return usageError{fmt.Errorf("--color %q: expected auto, always or never", o.color)}
	}
	if o.memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(o.memory)
	}
	return nil
}

// open finds and dials the deployment that the flags name.
func (o *options) open(ctx context.Context) (*cluster.Cluster, error) {
	c, err := cluster.Open(ctx, cluster.Config{
		NB: o.nb, SB: o.sb, OVS: o.ovs, TLS: o.tls, NoLeaderOnly: o.noLeaderOnly,
		Offline: o.offline, NodeExec: o.nodeExec, HostRoot: o.hostRoot, Timeout: o.timeout,
		Record: o.record,
	})
	if err != nil {
		return nil, unknownError{err}
	}
	return c, nil
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

// machine reports whether standard output is read by a program.
func (o *options) machine() bool { return o.output == "json" || o.output == "yaml" }

// A usageError is the user's mistake: a wrong flag, name or combination.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// An unknownError says that a source could not be read, so that there is no answer.
type unknownError struct{ error }

func (e unknownError) Unwrap() error { return e.error }

// A verdict ends a command that has printed its answer with this exit code.
type verdict int

func (v verdict) Error() string { return "exit status " + strconv.Itoa(int(v)) }

// report prints err where the user looks for it and returns the exit code.
func (o *options) report(err error) int {
	var v verdict
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &v):
		return int(v)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(o.stderr, "ovnctl: interrupted")
		return exitUnknown
	}
	code := exitUnknown
	var usage usageError
	if errors.As(err, &usage) {
		code = exitUsage
	}
	if o.machine() {
		// A document on standard output even now, so that a program need not parse text.
		if werr := render.Error(o.stdout, o.output, code, err); werr != nil {
			fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.Clean(werr.Error()))
		}
	}
	fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(err.Error()))
	return code
}

// asUsageErrors makes every argument error of cmd and its children a usage error.
func asUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError{fmt.Errorf("%w\nhint: %s", err, c.UseLine())}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		asUsageErrors(c)
	}
}

// seconds is a flag that takes whole or fractional seconds, as the C tools do, or a Go duration.
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

// byteSize is a flag that takes bytes with an optional K, M or G (powers of 1024).
type byteSize int64

func (b *byteSize) String() string { return strconv.FormatInt(int64(*b), 10) }
func (b *byteSize) Type() string   { return "bytes" }

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

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// A repair of another node is carried out there, by this same program: the one that is installed there if it is equal, else
// a copy. Journal, watchdog and undo are on that node, and the operator's answers go there; if the connection is lost, the
// node takes the repair back by itself. The copy is removed by the node once no run of its journal is open.

// programDir is the directory of copies below that of the journal.
const programDir = "program"

// askedReply is what the program there writes to standard error, on a line of its own, to have this end reply.
const askedReply = "\x00reply?\n"

// machines are the words of uname(1) for the architectures that the program is built for.
var machines = lazy.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"}, "ppc64le": {"ppc64le"}, "s390x": {"s390x"}, "riscv64": {"riscv64"},
	}
}}

// keptHere are the flags that say how to get to the deployment from here, and do not hold on another node.
var keptHere = []string{
	"nb", "sb", "ovs", "private-key", "certificate", "ca-cert", "ssl-server-name", "node-exec", "via", "context", "kubeconfig", "node", "host-root", "record", "offline", "color", "parallel", "memory",
}

// elsewhere runs a command that repairs a node on that node, if that is another one than this: then done is true, and err
// is what it ended with.
func (o *options) elsewhere(ctx context.Context, cmd *cobra.Command, name string, args []string, stateDir string, yes bool) (done bool, err error) {
	if name == "" || o.offline != "" {
		return false, nil
	}
	there := commandThere(cmd, args)
	if !yes && cmd.Flags().Lookup("yes") != nil && !o.asks() {
		return true, usageError{errNobody}
	}
	hostname := name
	c, err := o.openToFix(ctx)
	if err == nil {
		n := c.Node(name)
		local := n != nil && n.Local || c.Central != nil && c.Central.Name == name
		var known []string
		for _, h := range c.Hosts {
			known = append(known, h.Name)
		}
		if n != nil && n.Hostname() != "" {
			hostname = n.Hostname()
		}
		blind := len(c.Problems) > 0 // it is unknown which nodes there are
		o.close(c, &err)
		switch {
		case local:
			return false, nil
		case n == nil && !blind:
			return true, usageError{fmt.Errorf("not found: node %q\nhint: the nodes are %s", name, render.Clean(strings.Join(known, ", ")))}
		}
	}
	if o.way == nil {
		return true, refuseThere(name, there, errors.New("nothing says how to reach it, such as --via ssh or --node-exec 'ssh {hostname}'"))
	}
	h, err := o.way.Host(name, hostname, o.timeout)
	if err != nil {
		return true, usageError{err}
	}
	defer node.Close(h)
	e, err := node.NewErrand(h)
	if err != nil {
		return true, usageError{err}
	}
	state := stateDir
	if state == "" {
		state = fixes.DefaultState
	}
	program, copied, err := o.carry(ctx, e, state)
	if refusal, ok := errors.AsType[*unfit](err); ok {
		return true, refuseThere(name, there, refusal)
	}
	if err != nil {
		return true, unknownError{err}
	}
	changes.Store(true) // an interrupt has the node take it back: its end is waited for
	words := slices.Concat([]string{program, cmdPath(cmd)[0]}, cmdPath(cmd)[1:], o.flagsThere(cmd), []string{"--over-connection=" + name, "--called-from=" + strings.TrimSpace(o.withSource("ovnctl ")), "--"}, args)
	code, err := o.join(ctx, e, yes, words)
	if err != nil {
		if copied && !errors.Is(err, node.ErrLost) {
			_ = e.Remove(ctx, program)
		}
		if errors.Is(err, node.ErrLost) {
			err = fmt.Errorf("%w\nhint: unless it was confirmed before, node %s takes it back by itself; see: %s", err, name, o.withSource("ovnctl fix list --done --node "+fixes.Word(name)))
		}
		return true, fixError{err}
	}
	if code != exitOK {
		return true, verdict(code)
	}
	return true, nil
}

// An unfit node is one where a lost connection might not undo a repair.
type unfit struct{ error }

func (u *unfit) Unwrap() error { return u.error }

// refuseThere refuses to repair a node from here, with the command to run there.
func refuseThere(name, there string, why error) error {
	return usageError{fmt.Errorf("node %s is not repaired from here: %w\nhint: on %s: %s", render.Clean(name), why, render.Clean(name), there)}
}

// carry returns the path of this program on a node, and whether it was copied there. The error is an *unfit if the node is
// none where it can run, with all that it needs to undo.
func (o *options) carry(ctx context.Context, e *node.Errand, state string) (program string, copied bool, err error) {
	station, err := e.Look(ctx, "ovnctl")
	if err != nil {
		return "", false, err
	}
	switch {
	case station.System != "Linux" || runtime.GOOS != "linux" || !slices.Contains(machines.Get()[runtime.GOARCH], station.Machine):
		return "", false, &unfit{fmt.Errorf("it is %s on %s, and this program is for %s on %s", station.System, station.Machine, runtime.GOOS, runtime.GOARCH)}
	case !station.Root:
		return "", false, &unfit{errors.New("commands do not run as root there")}
	}
	self, err := os.Executable()
	if err != nil {
		return "", false, err
	}
	sum, err := sumOf(self)
	if err != nil {
		return "", false, err
	}
	if program = station.Program; station.Sum != sum {
		show := o.progress(0)
		show.show("copying ovnctl to the node")
		program, err = e.Copy(ctx, self, sum, filepath.Join(state, programDir), station.Unpacks)
		show.clear()
		if err != nil {
			return "", false, &unfit{err}
		}
		copied = true
	}
	var said bytes.Buffer
	code, err := e.Run(ctx, strings.NewReader(""), io.Discard, &said, program, "fix", "ready", "--state-dir", state)
	if err == nil && code != exitOK {
		err = errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "ovnctl: "))
	}
	if err == nil {
		return program, copied, nil
	}
	if copied {
		_ = e.Remove(ctx, program)
	}
	return "", false, &unfit{err}
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// join runs the program there, with the terminal of this end, and replies when it asks for that.
func (o *options) join(ctx context.Context, e *node.Errand, yes bool, words []string) (int, error) {
	stdin := o.stdin
	said := &replier{to: o.stderr}
	if yes {
		from, to := io.Pipe()
		stdin, said.reply = from, to
		defer to.Close()
	}
	return e.Run(ctx, stdin, o.stdout, said, words...)
}

// A replier passes on what the other end says, and replies when it is asked to.
type replier struct {
	to    io.Writer
	reply *io.PipeWriter
	mu    sync.Mutex
	begun []byte // of a request that has not wholly arrived
}

func (r *replier) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := append(r.begun, p...)
	r.begun = nil
	for {
		before, after, asked := bytes.Cut(text, []byte(askedReply))
		if at := bytes.LastIndexByte(before, askedReply[0]); !asked && at >= 0 && strings.HasPrefix(askedReply, string(before[at:])) {
			before, r.begun = before[:at], slices.Clone(before[at:])
		}
		if _, err := r.to.Write(before); err != nil {
			return 0, err
		}
		if !asked {
			return len(p), nil
		}
		if text = after; r.reply != nil {
			go func() { _, _ = io.WriteString(r.reply, "y\n") }()
		}
	}
}

// cmdPath returns the words of a command after the program's name.
func cmdPath(cmd *cobra.Command) []string {
	var words []string
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		words = append([]string{cmd.Name()}, words...)
	}
	return words
}

// flagsThere returns the flags that were given and hold on another node, too. A database's remote does if it is not a
// socket of this host; without one, the node finds its own.
func (o *options) flagsThere(cmd *cobra.Command) []string {
	words := givenFlags(cmd, func(f *pflag.Flag) bool {
		if f.Name == "nb" || f.Name == "sb" {
			return !strings.Contains(f.Value.String(), "unix:") && !strings.Contains(f.Value.String(), "ssl:")
		}
		return !slices.Contains(keptHere, f.Name)
	})
	if o.style(o.stdout).Color {
		words = append(words, "--color=always")
	}
	return words
}

// commandThere returns the command for a person to run on the node.
func commandThere(cmd *cobra.Command, args []string) string {
	words := append([]string{"ovnctl"}, cmdPath(cmd)...)
	words = append(append(words, args...), givenFlags(cmd, func(f *pflag.Flag) bool { return !slices.Contains(keptHere, f.Name) })...)
	for i := range words {
		words[i] = fixes.Word(words[i])
	}
	return strings.Join(words, " ")
}

func givenFlags(cmd *cobra.Command, holds func(*pflag.Flag) bool) []string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !holds(f) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if f.Value.Type() == "bool" && f.Value.String() == "true" {
			words = append(words, "--"+f.Name)
			return
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	return words
}

// addOverConnection adds the flag that says that the operator is at the other end of a connection.
func (a *applyOptions) addOverConnection(f *pflag.FlagSet) {
	f.StringVar(&a.overConnection, "over-connection", "", "this `node`, as the operator at the other end of standard input and output named it")
	_ = f.MarkHidden("over-connection")
}

// Reply asks the operator's end of the connection to reply.
func (o *operator) Reply(ctx context.Context) error {
	fmt.Fprint(o.stderr, askedReply)
	_, err := o.line(ctx)
	if err != nil {
		return fmt.Errorf("the operator's end of the connection does not reply: %w", err)
	}
	return nil
}

// removeCopies removes copies of this program that other nodes brought, once no run of the journal is open: this process, if
// it is one, and those that no process runs any more.
func (o *options) removeCopies(stateDir string) {
	dir := filepath.Join(o.state(stateDir), programDir)
	runs, err := fixes.ReadJournal(o.state(stateDir), o.hostRoot).Runs()
	if err != nil || slices.ContainsFunc(runs, (*fixes.Run).Open) {
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		return
	}
	self, _ := os.Executable()
	running := map[string]bool{}
	processes, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is valid
	for _, p := range processes {
		if exe, err := os.Readlink(p); err == nil {
			running[exe] = true
		}
	}
	for _, f := range files {
		file := filepath.Join(dir, f.Name())
		info, err := f.Info()
		fresh := err != nil || time.Since(info.ModTime()) < time.Minute // it may be on its way
		if file == self || !running[file] && !fresh {
			_ = os.Remove(file)
		}
	}
	_ = os.Remove(dir) // if it is empty
}

// newFixReady tells whether a repair can be undone here whatever happens to the connection; not for people.
func newFixReady(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "ready",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := o.journal(o.stateDir); err != nil {
				return err
			}
			if err := fixes.Survives(o.hostRoot); err != nil {
				return usageError{fmt.Errorf("no watchdog can run there: %w", err)}
			}
			return nil
		},
	}
	addStateDir(cmd.Flags(), &o.stateDir)
	return cmd
}

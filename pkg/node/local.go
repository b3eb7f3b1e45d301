package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// The default run directories of Open vSwitch and OVN.
const (
	DefaultOVSRunDir = "/var/run/openvswitch"
	DefaultOVNRunDir = "/var/run/ovn"
)

const (
	defaultTimeout = 5 * time.Second
	maxFile        = 16 << 20
)

// LocalConfig says where things are on the host ovnctl runs on. All fields are optional.
type LocalConfig struct {
	Name      string         // "local"
	HostRoot  string         // the host's root as seen from a debug container
	OVSRunDir string         // OVS_RUNDIR as seen here; in HostRoot, /var/run/openvswitch
	OVNRunDir string         // OVN_RUNDIR as seen here; in HostRoot, /var/run/ovn
	OVS       string         // remote of Open_vSwitch; db.sock in OVSRunDir
	TLS       ovsdb.TLSFiles // for OVS
	Timeout   time.Duration  // per request; 5 s
	// Getenv looks up the daemons' other directories (OVS_LOGDIR, OVN_DBDIR, …); nil if none is set.
	Getenv func(string) string
}

type local struct {
	LocalConfig
	busy   gates
	spaces netnsFiles
}

// Local is the host ovnctl runs on: it talks to sockets and the kernel directly and opens nothing until asked.
func Local(c LocalConfig) Host {
	c.Name = cmp.Or(c.Name, "local")
	c.OVSRunDir = cmp.Or(c.OVSRunDir, Resolve(c.HostRoot, DefaultOVSRunDir))
	c.OVNRunDir = cmp.Or(c.OVNRunDir, Resolve(c.HostRoot, DefaultOVNRunDir))
	c.OVS = cmp.Or(c.OVS, "unix:"+filepath.Join(c.OVSRunDir, "db.sock"))
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	return &local{LocalConfig: c}
}

func (l *local) Name() string   { return l.LocalConfig.Name }
func (l *local) Origin() string { return "local" }

func (l *local) Vswitch(ctx context.Context) (ovsdb.Reader, error) {
	// A nil *Client in the interface would not be nil.
	db, err := ovsdb.Dial(ctx, ovsdb.Config{DB: "Open_vSwitch", Remotes: l.OVS, TLS: l.TLS, Timeout: l.Timeout})
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (l *local) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	if err := checkControl(daemon, command, args); err != nil {
		return "", err
	}
	if err := survives(ctx, l, daemon, command, args); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	if !light(command) {
		leave, err := l.busy.enter(ctx, daemon)
		if err != nil {
			return "", fmt.Errorf("%s: %s: another command is still under way: %w", daemon, command, err)
		}
		defer leave()
	}
	return control(ctx, l.socketDir(daemon), daemon, command, args)
}

// socketDir is where a daemon's control socket is.
func (l *local) socketDir(daemon string) string {
	if ovnDaemon(daemon) {
		return l.OVNRunDir
	}
	return l.OVSRunDir
}

func (l *local) Dump(ctx context.Context, bridge string, kind DumpKind) (string, error) {
	if err := checkDump(bridge, kind); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	if kind == Flows || kind == Groups {
		leave, err := l.busy.enter(ctx, "ovs-vswitchd")
		if err != nil {
			return "", fmt.Errorf("bridge %s: another command is still under way: %w", bridge, err)
		}
		defer leave()
	}
	socket := filepath.Join(l.OVSRunDir, bridge+".mgmt")
	if _, err := os.Stat(socket); err != nil {
		return "", fmt.Errorf("bridge %s: no management socket, no such bridge or ovs-vswitchd does not run: %w", bridge, err)
	}
	switch kind {
	case TLVMap:
		return tlvMap(ctx, socket, bridge)
	case Ports:
		if text, err := portDesc(ctx, socket, bridge); !errors.Is(err, errOldOpenFlow) {
			return text, err
		}
	}
	text, err := runSpooled(ctx, "ovs-ofctl", ofctlArgs(kind, "unix:"+socket)...)
	if errors.Is(err, exec.ErrNotFound) {
		return "", unavailable("%s of bridge %s: ovs-ofctl is not installed here; save its %s as %s", kind, bridge, ofctlCommands.Get()[kind], dumpFile(bridge, kind))
	}
	return text, err
}

func (l *local) PacketOut(ctx context.Context, bridge string, frames []Outgoing) error {
	if err := checkDump(bridge, Flows); err != nil {
		return err
	}
	for _, f := range frames {
		ctx, cancel := context.WithTimeout(ctx, l.Timeout)
		_, err := run(ctx, "ovs-ofctl", "-O", ofctlVersions, "packet-out", "unix:"+filepath.Join(l.OVSRunDir, bridge+".mgmt"), f.packetOut())
		cancel()
		if err != nil {
			return fmt.Errorf("bridge %s: %w", bridge, err)
		}
	}
	return nil
}

func (l *local) ReadFile(_ context.Context, path string) ([]byte, error) {
	path = filepath.Clean("/" + path)
	if strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") {
		return l.readKernel(path)
	}
	return readBounded(Resolve(l.HostRoot, path), maxFile)
}

// ofctlCommands are the ovs-ofctl(8) commands that print each table.
var ofctlCommands = lazy.Value[map[DumpKind]string]{Make: func() map[DumpKind]string {
	return map[DumpKind]string{
		TLVMap: "dump-tlv-map",
		Flows:  "dump-flows",
		Groups: "dump-groups",
		Ports:  "dump-ports-desc",
		Meters: "dump-meters",
	}
}}

// ofctlVersions are all that ovs-ofctl(8) can speak: a bridge may speak some of them only.
const ofctlVersions = "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13,OpenFlow14,OpenFlow15"

func ofctlArgs(kind DumpKind, target string) []string {
	return []string{"-O", ofctlVersions, ofctlCommands.Get()[kind], target}
}

func dumpFile(bridge string, kind DumpKind) string { return string(kind) + "-" + bridge + ".txt" }

func checkDump(bridge string, kind DumpKind) error {
	if ofctlCommands.Get()[kind] == "" {
		return fmt.Errorf("bridge %s: cannot dump %q", bridge, kind)
	}
	if bridge == "" || bridge[0] == '-' || strings.ContainsAny(bridge, "/\x00\n") {
		return fmt.Errorf("%q is not a bridge name", bridge)
	}
	return nil
}

// run executes a command on this host; its error includes the command's stderr.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	if err := runTo(ctx, &out, name, args...); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// runSpooled is run for commands with large output: it goes to a file in memory where the kernel supports that. A
// small pipe would wake the reader every 4 KiB.
func runSpooled(ctx context.Context, name string, args ...string) (string, error) {
	var text strings.Builder
	f, err := spool()
	if err != nil {
		if err := runTo(ctx, &text, name, args...); err != nil {
			return "", err
		}
		return text.String(), nil
	}
	defer f.Close()
	if err := runTo(ctx, f, name, args...); err != nil {
		return "", err
	}
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if most := mostReply(); fi.Size() > most {
		return "", fmt.Errorf("%s: printed more than %d MiB", name, most>>20)
	}
	text.Grow(int(fi.Size()))
	if _, err := io.Copy(&text, io.NewSectionReader(f, 0, fi.Size())); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text.String(), nil
}

// runTo is run with its output sent to out.
func runTo(ctx context.Context, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: no reply in time: %w", name, strings.Join(args, " "), ctx.Err())
	}
	if said := strings.TrimSpace(stderr.String()); err != nil && said != "" {
		return fmt.Errorf("%s: %s: %w", name, said, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// light reports whether a daemon serves a control command at once, whatever it holds: a dump in the daemon's queue
// delays it in any case. The trace of a packet is one: it takes less than a millisecond.
func light(command string) bool {
	switch command {
	case "ofproto/trace", "ofproto/trace-packet-out", "dpif/show", "dpif/show-dp-features",
		"version", "coverage/show", "upcall/show", "dpctl/show", "fdb/stats-show",
		"dpctl/ct-get-nconns", "dpctl/ct-get-maxconns", "dpctl/ct-get-limits", "connection-status":
		return true
	}
	return false
}

// gates allows each daemon one heavy request at a time: daemons serve them in their main thread and cannot be
// interrupted.
type gates struct {
	mu   sync.Mutex
	gate map[string]chan struct{}
}

func (g *gates) enter(ctx context.Context, daemon string) (leave func(), err error) {
	gate := g.of(daemon)
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// held reports whether a heavy request is under way.
func (g *gates) held(daemon string) bool { return len(g.of(daemon)) > 0 }

func (g *gates) of(daemon string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gate == nil {
		g.gate = map[string]chan struct{}{}
	}
	if g.gate[daemon] == nil {
		g.gate[daemon] = make(chan struct{}, 1)
	}
	return g.gate[daemon]
}

// HostPath translates a path seen from here to the path on the host at root: the reverse of Resolve, for paths
// without links. A path not below root is returned unchanged.
func HostPath(root, path string) string {
	root = strings.TrimRight(root, "/")
	if below, ok := strings.CutPrefix(path, root); ok && root != "" && (below == "" || below[0] == '/') {
		return "/" + strings.TrimLeft(below, "/")
	}
	return path
}

// Resolve returns where a path of the host at root is seen from here. Symbolic links are followed as a process
// chrooted there would, so none leads out of the root. An empty root is our own.
func Resolve(root, path string) string {
	if root == "" {
		return path
	}
	todo := strings.Split(filepath.Clean("/"+path), "/")
	at, links := "/", 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name) // ".." at the root stays there
		target, err := os.Readlink(filepath.Join(root, next))
		if links++; err != nil || links > 255 { // no link, or not found: open will report it
			at = next
			continue
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return filepath.Join(root, at)
}

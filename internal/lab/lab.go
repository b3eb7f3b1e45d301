package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the hosts that are not nodes or pods.
const (
	central  = "central"
	fabric   = "fab"
	internet = "internet"
)

// DatapathVariable in the environment is the datapath type of a lab's bridges: netdev, or system for the kernel's on a
// machine whose kernel has it. See package machine.
const DatapathVariable = "OVNCTL_LAB_DATAPATH"

// Types of datapath, as in ovs-vswitchd.conf.db(5). Topologies say netdev.
const (
	userspaceDatapath = "netdev"
	kernelDatapath    = "system"
)

// emulation is how many times slower than others a machine runs that QEMU emulates, on a busy host.
const emulation = 15

// Allow returns how long to wait here for what takes at most d elsewhere: labs on the kernel datapath run on an emulated machine.
func (s *State) Allow(d time.Duration) time.Duration { return allow(s.Datapath, d) }

// Allow is [State.Allow] for a lab that is not up yet.
func Allow(d time.Duration) time.Duration { return allow(os.Getenv(DatapathVariable), d) }

// Flags are the flags of ovnctl by which it is as patient as the lab is slow.
func (s *State) Flags() []string {
	if s.Datapath != kernelDatapath {
		return nil
	}
	return []string{"-t", "120"}
}

func allow(datapath string, d time.Duration) time.Duration {
	if datapath == kernelDatapath {
		return d * emulation
	}
	return d
}

// Options configure a lab.
type Options struct {
	Dir     string // directory, which must not exist; empty: a new one in /tmp. Keep it short: socket paths are limited to 108 bytes
	Release string // release of OVS and OVN; empty or "system": the machine's own
	Detach  bool   // the lab survives this process, until [Down]
	Cluster int    // members of the RAFT clusters that serve the databases; 0: standalone servers
	TLS     bool   // the databases are served over TLS only, to clients with a certificate; keys are in DIR/pki
}

// A Lab is up. It ends with [Lab.Down], or when the process that made it ends.
type Lab struct {
	*State
	keeper *keeper
	Times  []Step // how long each part took
}

// A Step is a part of bringing a lab up.
type Step struct {
	Name string
	Took time.Duration
}

func (s Step) String() string { return fmt.Sprintf("%s %.2f s", s.Name, s.Took.Seconds()) }

// Up brings a lab up and returns when its pods can talk. It needs root.
func Up(ctx context.Context, t Topology, o Options) (*Lab, error) {
	prefix := newPrefix()
	if err := checkMachine(ctx, prefix); err != nil {
		return nil, err
	}
	if err := reap(); err != nil {
		return nil, fmt.Errorf("remove what an earlier lab left: %w", err)
	}
	release, err := Install(ctx, o.Release)
	if err != nil {
		return nil, err
	}
	if t.OVN && release.OVN == "" {
		return nil, fmt.Errorf("topology %s on release %s: it has no OVN", t.Name, release.Name)
	}
	l, err := begin(prefix, t, release, o)
	if err != nil {
		return nil, err
	}
	if err := l.build(ctx); err != nil {
		err = fmt.Errorf("lab %s: %w", t.Name, err)
		return nil, errors.Join(err, l.Down())
	}
	if o.Detach {
		l.Owner = Process{}
		if err := errors.Join(l.save(), l.keeper.order("detach")); err != nil {
			return nil, errors.Join(err, l.Down())
		}
	}
	return l, nil
}

// begin records the lab and starts its keeper, before anything exists that could be left behind.
func begin(prefix string, t Topology, release Release, o Options) (*Lab, error) {
	if release.Root != "" && o.Dir != "" && !strings.HasPrefix(o.Dir, "/tmp/") {
		return nil, fmt.Errorf("directory %s: a lab of another release has to live in /tmp", o.Dir)
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &State{Prefix: prefix, Dir: dir, Topology: t, Release: release, Owner: thisProcess(), Cluster: o.Cluster, TLS: o.TLS,
		Datapath: cmp.Or(os.Getenv(DatapathVariable), userspaceDatapath)}
	l := &Lab{State: s}
	if err := l.register(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return l, nil
}

func newPrefix() string {
	var random [3]byte
	_, _ = rand.Read(random[:])
	return "lab" + hex.EncodeToString(random[:])
}

func (l *Lab) register() error {
	if err := l.save(); err != nil {
		return err
	}
	if err := l.enroll(); err != nil {
		return err
	}
	k, err := startKeeper(l.Dir)
	if err != nil {
		return errors.Join(err, os.Remove(filepath.Join(registry, l.Prefix)))
	}
	l.keeper, l.Keeper = k, processOf(k.cmd.Process.Pid)
	return l.save()
}

func makeDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("/tmp", "lab-")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if len(abs) > 40 || strings.ContainsAny(abs, " \t\n'\"$\\`") {
		return "", fmt.Errorf("directory %s: too long for socket paths, or with characters a shell would read", abs)
	}
	return abs, os.Mkdir(abs, 0o755)
}

// Down removes the lab completely. It may be called more than once.
func (l *Lab) Down() error {
	if _, err := os.Stat(l.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := l.remove()
	_ = l.keeper.cmd.Wait()
	return err
}

// Down removes the lab in dir, whichever process created it.
func Down(dir string) error {
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	return s.remove()
}

// Open opens the lab in dir, created by another process.
func Open(dir string) (*State, error) { return loadState(dir) }

// build makes everything, and times each part.
func (l *Lab) build(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"network", l.buildNetwork},
		{"keys", l.makeKeys},
		{"daemons", l.startDaemons},
		{"servers", func(context.Context) error { return l.keeper.order("serve") }},
		{"ready", l.wait},
	} {
		start := time.Now()
		err := step.do(ctx)
		l.Times = append(l.Times, Step{step.name, time.Since(start)})
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// each runs f for all items concurrently and joins the errors.
func each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// startDaemons starts all hosts concurrently; the Northbound is written as soon as its server is reachable.
func (l *Lab) startDaemons(ctx context.Context) error {
	jobs := []func() error{}
	if len(l.Centrals()) > 0 {
		jobs = append(jobs, func() error {
			if err := l.startCentrals(ctx); err != nil {
				return err
			}
			return errors.Join(l.writeNorthbound(ctx), l.writeZones(ctx))
		})
	}
	for _, n := range l.Topology.Nodes {
		jobs = append(jobs, func() error {
			if err := l.startVswitch(ctx, n); err != nil || !l.Topology.OVN {
				return err
			}
			return l.controller(ctx, n, "start_controller")
		})
	}
	return each(jobs, func(job func() error) error { return job() })
}

// wait returns when every port is bound, every node has its flows, and tunnel neighbours are resolved.
func (l *Lab) wait(ctx context.Context) error {
	if err := each(l.northbounds(), func(host string) error { return l.waitForPorts(ctx, host) }); err != nil {
		return fmt.Errorf("%w\n%s", err, l.unready(ctx))
	}
	return each(l.Topology.Nodes, func(n Node) error { return l.prime(ctx, n) })
}

// waitForPorts returns when all pod ports of a Northbound are up and the nodes have its flows. On a busy machine an
// ovn-controller sometimes goes idle after learning its switch's features, with nothing installed; restarting it helps.
func (l *Lab) waitForPorts(ctx context.Context, host string) error {
	if l.Topology.Saved != "" {
		return l.waitForBindings(ctx, host)
	}
	args := []string{"init"} // a command is needed even without pods
	for _, p := range l.Topology.Pods {
		if l.Topology.Zones && p.Node != host {
			continue // in another Northbound
		}
		args = append(args, "--", "wait-until", "Logical_Switch_Port", p.Name, "up=true")
	}
	if _, err := l.Run(ctx, host, slices.Concat(l.nbctl(host), []string{fmt.Sprintf("--timeout=%.0f", l.Allow(25*time.Second).Seconds())}, args)...); err == nil || ctx.Err() != nil {
		return l.sync(ctx, host, err)
	}
	if err := each(l.Topology.Nodes, func(n Node) error { return l.controller(ctx, n, "restart_controller") }); err != nil {
		return err
	}
	_, err := l.Run(ctx, host, slices.Concat(l.nbctl(host), args)...)
	return l.sync(ctx, host, err)
}

// sync returns when the nodes have the flows of a Northbound, or the error of an earlier step.
func (l *Lab) sync(ctx context.Context, host string, err error) error {
	if err == nil {
		_, err = l.Run(ctx, host, append(l.nbctl(host), "--wait=hv", "sync")...)
	}
	return err
}

// unready lists the ports that are not up, and the last lines of the controllers' logs.
func (l *Lab) unready(ctx context.Context) string {
	text := ""
	for _, host := range l.northbounds() {
		ports, err := l.Run(ctx, host, append(l.nbctl(host), "--bare", "--columns=name", "find", "Logical_Switch_Port", "up=false")...)
		text += fmt.Sprintf("%s: ports not up: %s %v\n", host, strings.Join(strings.Fields(ports), " "), err)
	}
	for _, n := range l.Topology.Nodes {
		logs, _ := filepath.Glob(filepath.Join(l.Dir, n.Name, "var/log/*/ovn-controller.log"))
		for _, log := range logs {
			if b, err := os.ReadFile(log); err == nil {
				text += "\n" + log + ": " + tail(string(b))
			}
		}
	}
	return text
}

// prime resolves the MAC addresses of the other tunnel ends, since the datapath drops the first packet to an unknown
// one, and has the node resolve its gateways.
func (l *Lab) prime(ctx context.Context, n Node) error {
	for _, peer := range l.Topology.Nodes {
		if peer.Name == n.Name {
			continue
		}
		mac, err := l.Run(ctx, peer.Name, "cat", "/sys/class/net/br-ex/address")
		if err != nil {
			return err
		}
		for _, addr := range []netip.Prefix{peer.IPv4, peer.IPv6} {
			if !addr.IsValid() {
				continue
			}
			if _, err := l.Run(ctx, n.Name, "ovs-appctl", "-T", "5", "tnl/arp/set", "br-ex", addr.Addr().String(), strings.TrimSpace(mac)); err != nil {
				return err
			}
		}
	}
	if n.IPv6.IsValid() {
		return l.shell(ctx, n.Name, "ping -q -c1 -W2 "+Internet4.String(), "ping -q -c1 -W2 "+Internet6.String())
	}
	return l.shell(ctx, n.Name, "ping -q -c1 -W2 "+Internet4.String())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

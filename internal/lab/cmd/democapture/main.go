// Command democapture makes the captures in the binary: of a healthy lab, and of the same lab with three faults. See
// package demo.
//
//	democapture OVNCTL DIR
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/archive"
)

// place is the lab's directory: evidence shows paths, which must not reveal who made it.
const place = "/tmp/demo"

// patience is how long to wait for a condition of the lab.
const patience = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: democapture OVNCTL DIR")
		os.Exit(2)
	}
	if err := write(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "democapture:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, ovnctl, dir string) (err error) {
	l, err := lab.Up(ctx, lab.OVNKubernetes(), lab.Options{Dir: place})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down()) }()
	d := &demo{l, ovnctl, dir}
	if err := d.use(ctx); err != nil {
		return err
	}
	if err := d.capture(ctx, "healthy"); err != nil {
		return err
	}
	if err := d.spoil(ctx); err != nil {
		return err
	}
	if err := d.capture(ctx, "broken"); err != nil {
		return err
	}
	return d.keepFlow(ctx)
}

// A demo is the lab that is captured.
type demo struct {
	*lab.Lab
	ovnctl, dir string
}

// use sends traffic, so that routers learn their neighbours and connections are tracked.
func (d *demo) use(ctx context.Context) error {
	for _, p := range []struct {
		from, to, proto string
		port            int
	}{
		{"shop_client", "internet", "icmp", 0}, {"shop_web-2", "internet", "icmp", 0}, {"shop_web-3", "internet", "icmp", 0},
		{"shop_client", "shop_web-2", "tcp", 8080}, {"shop_client", "bank_vault-2", "tcp", 8080},
	} {
		err := until(ctx, p.from+" reaches "+p.to, func() (bool, error) {
			truth, err := d.Probe(ctx, p.from, p.to, p.proto, p.port)
			return truth.RoundTrip, err
		})
		if err != nil {
			return err
		}
	}
	return d.settle(ctx)
}

// spoil breaks three things: a port in a network policy, a gateway router's entry for its neighbour, and a node's
// uplink.
func (d *demo) spoil(ctx context.Context) error {
	acl, err := d.one(ctx, "ovn-nbctl", "ACL", "name=NP\\:bank\\:allow-shop\\:Ingress\\:0")
	if err != nil {
		return err
	}
	match, err := d.Run(ctx, "central", "ovn-nbctl", "get", "ACL", acl, "match")
	if err != nil {
		return err
	}
	learned, err := d.one(ctx, "ovn-sbctl", "MAC_Binding", "logical_port=rtoj-GR_node1", "ip=100.64.0.1")
	if err != nil {
		return err
	}
	for _, c := range [][]string{
		{"central", "ovn-nbctl", "set", "ACL", acl, "match=" + strings.Replace(strings.TrimSpace(match), "tcp.dst==8080", "tcp.dst==8443", 1)},
		{"central", "ovn-sbctl", "set", "MAC_Binding", learned, `mac="0a:58:64:40:00:99"`},
	} {
		if _, err := d.Run(ctx, c[0], c[1:]...); err != nil {
			return err
		}
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	_, err = d.Run(ctx, "node3", "ovs-vsctl", "del-port", "br-ex", "eth0")
	return err
}

// keepFlow writes the flow of node2 that denies bank/vault-2 what no policy allows, as ovs-ofctl prints it: input for
// decode.
func (d *demo) keepFlow(ctx context.Context) error {
	out, err := d.Run(ctx, "node2", "ovs-ofctl", "dump-flows", "br-int")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "priority=2000,reg0=0x200/0x200,reg15=") && strings.Contains(line, "actions=drop") {
			return os.WriteFile(filepath.Join(d.dir, "flow.txt"), []byte(strings.TrimSpace(line)+"\n"), 0o644)
		}
	}
	return errors.New("node2 has no flow that denies by default")
}

// one returns the UUID of a row.
func (d *demo) one(ctx context.Context, client, table string, conditions ...string) (string, error) {
	out, err := d.Run(ctx, "central", append([]string{client, "--bare", "--columns=_uuid", "find", table}, conditions...)...)
	if err == nil && len(strings.Fields(out)) != 1 {
		err = fmt.Errorf("%s %q: %q is not one row", table, conditions, out)
	}
	return strings.TrimSpace(out), err
}

// settle returns when all nodes have applied the databases.
func (d *demo) settle(ctx context.Context) error {
	for range 2 {
		if _, err := d.Run(ctx, "central", "ovn-nbctl", "--timeout=60", "--wait=hv", "sync"); err != nil {
			return err
		}
	}
	return nil
}

func until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// capture writes the current lab as NAME.tar.zst.
func (d *demo) capture(ctx context.Context, name string) error {
	raw := filepath.Join(place, name+".tar.zst")
	if _, err := d.Run(ctx, "node1", d.ovnctl, "capture", raw, "--node-exec", place+"/enter {hostname}"); err != nil {
		return err
	}
	tree, err := archive.Open(context.Background(), raw)
	if err != nil {
		return err
	}
	defer tree.Close() //nolint:errcheck // only read
	var out bytes.Buffer
	if err := rewrite(tree, &out); err != nil {
		return err
	}
	// A capture is written so that it is readable wherever it ends. This one is complete.
	small, err := squeeze(ctx, &out)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, name+".tar.zst"), small, 0o644)
}

// squeeze compresses a capture as far as possible.
func squeeze(ctx context.Context, in *bytes.Buffer) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", "zstd -dc | zstd --ultra -22 -c")
	cmd.Stdin = in
	return cmd.Output()
}

// rewrite rewrites a capture without traces of the machine that runs the lab.
func rewrite(tree *archive.Tree, out *bytes.Buffer) error {
	x := tree.Index()
	maker, err := traces()
	if err != nil {
		return err
	}
	w, err := archive.NewWriter(out, "demo", 1<<30)
	if err != nil {
		return err
	}
	for _, f := range x.Files {
		if ofMachine(f) {
			continue
		}
		content, err := tree.ReadFile(f.Name, 1<<30)
		if err != nil {
			return err
		}
		if path.Base(f.Name) == "processes.json" {
			if content, err = withoutCgroups(content); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		for _, trace := range maker {
			if bytes.Contains(content, []byte(trace)) {
				return fmt.Errorf("%s has %q in it", f.Name, trace)
			}
		}
		if err := w.Keep(f.Node, f.Name, f.What, content); err != nil {
			return err
		}
	}
	w.Describe(func(y *archive.Index) {
		y.Started, y.Nodes, y.Databases, y.Failed, y.Notes = x.Started, x.Nodes, x.Databases, x.Failed, x.Notes
	})
	_, err = w.Close()
	return err
}

// ofMachine reports whether a file is about the kernel and host that run the lab.
func ofMachine(f archive.IndexEntry) bool {
	_, name, _ := strings.Cut(f.Name, "/files/")
	switch name {
	case "proc/version", "proc/cmdline", "proc/meminfo", "proc/loadavg", "proc/uptime", "etc/hostname":
		return true
	}
	return false
}

// traces returns what must not occur in a capture: the machine's kernel, and the current directory.
func traces() ([]string, error) {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	return []string{strings.TrimSpace(string(kernel)), here}, err
}

// withoutCgroups removes control groups from a list of processes.
func withoutCgroups(content []byte) ([]byte, error) {
	var processes []map[string]any
	if err := json.Unmarshal(content, &processes); err != nil {
		return nil, err
	}
	for _, p := range processes {
		delete(p, "cgroup")
	}
	return json.MarshalIndent(processes, "", "\t")
}

//go:build lab

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// open opens a Config from here; it is closed with the test.
func open(t *testing.T, config Config) *Cluster {
	t.Helper()
	c, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// live is the whole lab as seen from outside of it.
func live(t *testing.T) Config {
	for _, v := range noRunDirs(t, "fab") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return Config{NB: hosts.NB(), SB: hosts.SB(), Way: node.Prefix(nodeExec())}
}

type rows struct {
	Bindings   []sb.PortBinding
	Chassis    []sb.Chassis
	Interfaces map[string][]vswitch.Interface
}

func load(t *testing.T, c *Cluster) (r rows) {
	t.Helper()
	var z struct {
		Bindings []sb.PortBinding
		Chassis  []sb.Chassis
	}
	if err := ovsdb.Load(t.Context(), c.Zones[0].SB, &z); err != nil {
		t.Fatal(err)
	}
	r.Bindings, r.Chassis, r.Interfaces = z.Bindings, z.Chassis, map[string][]vswitch.Interface{}
	for _, n := range c.Hosts {
		if n.Vswitch() == nil {
			t.Fatalf("%s is not open: %v", n.Name, c.Problems)
		}
		list, err := ovsdb.Find[vswitch.Interface](t.Context(), n.Vswitch())
		if err != nil {
			t.Fatal(err)
		}
		r.Interfaces[n.Name] = list
	}
	return r
}

// Of ephemeral columns a backup has no values.
var lasting = cmpopts.IgnoreFields(vswitch.Interface{},
	"AdminState", "Duplex", "IfIndex", "LinkResets", "LinkSpeed", "LinkState", "MACInUse", "MTU", "Statistics", "Status")

var anyOrder = cmp.Options{
	lasting,
	cmpopts.EquateEmpty(),
	cmpopts.SortSlices(func(a, b sb.PortBinding) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b sb.Chassis) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b vswitch.Interface) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b ovsdb.UUID) bool { return a < b }),
}

// A directory of backups gives the deployment that it was made of.
func TestOfflineEqualsLive(t *testing.T) {
	dir := t.TempDir()
	if err := hosts.Backup(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	was := open(t, live(t))
	was.Gather(t.Context())
	saved := open(t, Config{Offline: dir})
	saved.Gather(t.Context())
	if len(saved.Problems) > 0 || len(saved.Notes) > 0 {
		t.Errorf("problems %v, notes %q", saved.Problems, saved.Notes)
	}
	if diff := cmp.Diff(load(t, was), load(t, saved), anyOrder); diff != "" {
		t.Errorf("rows differ (-live +saved):\n%s", diff)
	}
	for i, n := range saved.Hosts {
		if l := was.Hosts[i]; n.Name != l.Name || n.SystemID != l.SystemID || n.Zone != l.Zone {
			t.Errorf("saved %s %s, live %s %s", n.Name, n.SystemID, l.Name, l.SystemID)
		}
		text, err := n.Host.Dump(t.Context(), "br-int", node.TLVMap)
		text2, err2 := was.Hosts[i].Host.Dump(t.Context(), "br-int", node.TLVMap)
		if err != nil || err2 != nil || text != text2 {
			t.Errorf("%s: TLV map %q, %v, live %q, %v", n.Name, text, err, text2, err2)
		}
	}
	s := saved.Source()
	if s.NB != filepath.Join(dir, "nb.db") || s.SB != filepath.Join(dir, "sb.db") || !slices.Equal(s.Nodes, []string{"node1", "node2", "node3"}) {
		t.Errorf("source %+v", s)
	}
	if when, err := time.Parse(time.RFC3339, s.Time); err != nil || time.Since(when) > time.Minute {
		t.Errorf("time %q", s.Time)
	}
}

// What was asked live is answered from the recording, and only that.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	config := live(t)
	config.Record = dir
	was := open(t, config)
	was.Gather(t.Context())
	trace := []string{"ofproto/trace", "br-int", "in_port=LOCAL,icmp"}
	replies := map[string]string{}
	for _, n := range was.Hosts {
		reply, err := n.Host.Control(t.Context(), "ovs-vswitchd", trace[0], trace[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		replies[n.Name] = reply
	}
	saved := open(t, Config{Offline: dir})
	saved.Gather(t.Context())
	if len(saved.Hosts) != 3 || len(saved.Problems) > 0 {
		t.Fatalf("%d nodes, problems %v", len(saved.Hosts), saved.Problems)
	}
	contains(t, "notes", saved.Notes, "no OVN_Southbound", "sb.db")
	for i, n := range saved.Hosts {
		if n.Vswitch() == nil || n.SystemID != was.Hosts[i].SystemID {
			t.Errorf("%+v", n)
		}
		if reply, err := n.Host.Control(t.Context(), "ovs-vswitchd", trace[0], trace[1:]...); err != nil || reply != replies[n.Name] {
			t.Errorf("%s: %v\n%s", n.Name, err, reply)
		}
		if _, err := n.Host.Control(t.Context(), "ovs-vswitchd", trace[0], trace[1], "in_port=1"); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: an answer that was not recorded: %v", n.Name, err)
		}
	}
}

// Recorded on the node itself, the local one's rows are there as well.
func TestRecordOnNode(t *testing.T) {
	dir := filepath.Join(shortDir(t), "record")
	if s := openOn(t, "node1", Config{Record: dir}); s.Err != "" || len(s.Problems) > 0 {
		t.Fatalf("%+v", s)
	}
	saved := open(t, Config{Offline: dir})
	saved.Gather(t.Context())
	if n := saved.Node("node1"); n == nil || n.Vswitch() == nil || n.SystemID == "" {
		t.Errorf("node1: %+v, problems %v", n, saved.Problems)
	}
	if s := openOn(t, "node1", Config{Record: filepath.Join(dir, "node1", "conf.db", "x")}); s.Source.SB == "" {
		t.Errorf("where nothing can be written: %+v", s)
	} else {
		contains(t, "problems", s.Problems, "recording is incomplete")
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Parts of a directory are a deployment too.
func TestOfflineParts(t *testing.T) {
	whole := t.TempDir()
	if err := hosts.Backup(context.Background(), whole); err != nil {
		t.Fatal(err)
	}
	id := strings.Trim(enter(t, "node2", "ovs-vsctl", "get", "open", ".", "external_ids:system-id"), `"`)

	t.Run("southbound alone", func(t *testing.T) {
		dir := t.TempDir()
		copyTo(t, filepath.Join(whole, "sb.db"), filepath.Join(dir, "sb.db"))
		c := open(t, Config{Offline: dir})
		c.Gather(t.Context())
		if c.Zones[0].SB == nil || c.Zones[0].NB != nil || len(c.Hosts) != 3 || len(c.Problems) > 0 || len(c.Source().Nodes) != 0 {
			t.Errorf("%+v, problems %v", c.Source(), c.Problems)
		}
		contains(t, "notes", c.Notes, "no OVN_Northbound", "3 nodes not read")
		c.Gather(t.Context(), c.Hosts[0]) // asked for, it is missed
		if len(c.Problems) != 1 || !errors.Is(c.Problems[0], node.ErrUnavailable) || !strings.Contains(c.Problems[0].Next, "node1/conf.db") {
			t.Errorf("problems %v", c.Problems)
		}
	})
	t.Run("node alone", func(t *testing.T) {
		dir := t.TempDir()
		copyTo(t, filepath.Join(whole, "node2"), filepath.Join(dir, "node2"))
		c := open(t, Config{Offline: dir})
		c.Gather(t.Context())
		if n := c.Node("node2"); n == nil || n.SystemID != id || n.Vswitch() == nil || len(c.Problems) > 0 {
			t.Errorf("%+v, problems %v", n, c.Problems)
		}
	})
	t.Run("node under another name", func(t *testing.T) {
		dir := t.TempDir()
		copyTo(t, filepath.Join(whole, "sb.db"), filepath.Join(dir, "sb.db"))
		copyTo(t, filepath.Join(whole, "node2"), filepath.Join(dir, "from-the-customer"))
		c := open(t, Config{Offline: dir})
		c.Gather(t.Context())
		if n := c.Node("node2"); n == nil || n.SystemID != id || n.Vswitch() == nil || len(c.Hosts) != 3 {
			t.Errorf("%+v of %d, problems %v", n, len(c.Hosts), c.Problems)
		}
	})
	t.Run("zone per node", func(t *testing.T) {
		dir := t.TempDir()
		zonePerNode(t, dir, "node1", "node2")
		zonePerNode(t, dir, "node2", "node1")
		c := open(t, Config{Offline: dir})
		c.Gather(t.Context())
		if len(c.Hosts) != 2 || len(c.Problems) > 0 {
			t.Fatalf("%d nodes, problems %v", len(c.Hosts), c.Problems)
		}
		for _, n := range c.Hosts {
			if n.Zone != "zone-"+n.Name || n.Vswitch() == nil {
				t.Errorf("%+v", n)
			}
		}
		zones := []string{}
		for _, z := range c.Zones {
			zones = append(zones, z.Name)
		}
		if !slices.Equal(zones, []string{"zone-node1", "zone-node2"}) {
			t.Errorf("zones %q", zones)
		}
		if nb := c.Source().NB; nb != filepath.Join(dir, "node1/nb.db")+","+filepath.Join(dir, "node2/nb.db") {
			t.Errorf("source %q", nb)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		dir := t.TempDir()
		copyTo(t, filepath.Join(whole, "sb.db"), filepath.Join(dir, "nb.db")) // mistaken
		copyTo(t, filepath.Join(whole, "node2"), filepath.Join(dir, "node2"))
		if err := os.WriteFile(filepath.Join(dir, "sb.db"), []byte("OVSDB JSON 12 x\n{"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := open(t, Config{Offline: dir})
		c.Gather(t.Context())
		if len(c.Problems) != 2 || c.Node("node2").Vswitch() == nil {
			t.Errorf("problems %v", c.Problems)
		}
		contains(t, "problems", []string{c.Problems[0].Error(), c.Problems[1].Error()}, "OVN_Northbound", "database of OVN_Southbound", "sb.db")
	})
	for name, dir := range map[string]string{"empty": t.TempDir(), "nope": "/nonexistent", "no file of ours": "offline_test.go"} {
		if c, err := Open(t.Context(), Config{Offline: dir}); err == nil {
			t.Errorf("%s: %+v, want an error", name, c.Source())
		}
	}
}

// zonePerNode saves a node as OVN interconnect has it: a zone of its own, in
// which the other node is a remote chassis.
func zonePerNode(t *testing.T, dir, own, other string) {
	t.Helper()
	nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("ovn-nbctl", "--db=unix:"+nb.Socket, "init", "--", "set", "nb_global", ".", "name=zone-"+own)
	for i, name := range []string{own, other} {
		run("ovn-sbctl", "--db=unix:"+sb.Socket, "chassis-add", "id-"+name, "geneve", fmt.Sprintf("192.0.2.%d", i+1),
			"--", "set", "chassis", "id-"+name, "hostname="+name, fmt.Sprintf("other_config:is-remote=%v", name == other))
	}
	vs := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	run("ovs-vsctl", "--no-wait", "--db=unix:"+vs.Socket, "init", "--", "set", "open", ".", "external_ids:system-id=id-"+own)
	for file, s := range map[string]*ovsdbtest.Server{"nb.db": nb, "sb.db": sb, "conf.db": vs} {
		name := filepath.Join(dir, own, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(run("ovsdb-client", "backup", "unix:"+s.Socket, s.DB)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

package archive

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTree(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "saved")
	write(t, filepath.Join(top, "secret"), "outside")
	for _, name := range []string{
		"nb.db", "node1/conf.db", "node2/conf.json", "node3/flows-br-int.txt", "node4/tlv-map-br-int.txt", "node5/control/x.txt",
		"notes/flows.md", "other/x.txt", ".git/conf.db", "node6/network.json",
	} {
		write(t, filepath.Join(dir, name), name)
	}
	for name, target := range map[string]string{
		"out": "../secret", "abs": filepath.Join(top, "secret"), "up": "..", "in": "node1/conf.db", "loop": "loop", "zero": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })

	nodes, err := tree.Nodes()
	if want := []string{"node1", "node2", "node3", "node4", "node5", "node6"}; err != nil || !slices.Equal(nodes, want) {
		t.Errorf("nodes %q, %v, want %q", nodes, err, want)
	}
	if b, err := tree.ReadFile("in", 100); err != nil || string(b) != "node1/conf.db" {
		t.Errorf("a link that stays inside: %q, %v", b, err)
	}
	for _, name := range []string{"out", "abs", "up/secret", "../secret", "/etc/passwd", "node1/../../secret", "loop", "zero", "fifo", "node1", "", "."} {
		start := time.Now()
		if b, err := tree.ReadFile(name, 100); err == nil {
			t.Errorf("%q: %q, want an error", name, b)
		} else if !strings.HasPrefix(err.Error(), top) {
			t.Errorf("%q: %v does not say where", name, err)
		}
		if time.Since(start) > time.Second {
			t.Errorf("%q hung", name)
		}
	}
	if _, err := tree.ReadFile("nope", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if b, err := tree.ReadFile("nb.db", 4); err == nil {
		t.Errorf("a file above the bound: %q", b)
	}
	if b, err := tree.ReadFile("nb.db", 5); err != nil || len(b) != 5 {
		t.Errorf("a file at the bound: %q, %v", b, err)
	}
	if !tree.Has("node1") || tree.Has("nope") || tree.Has("../secret") {
		t.Error("Has is wrong")
	}
	if tree.ModTime("nb.db").IsZero() || !tree.ModTime("nope").IsZero() {
		t.Error("ModTime is wrong")
	}
}

func TestOpenFails(t *testing.T) {
	if tree, err := Open(t.Context(), "/nonexistent"); err == nil {
		t.Errorf("%s: want an error", tree.Path())
	}
}

// Lists of tables stand for a database of which there is no file; the members of a
// cluster list the same one.
func TestLists(t *testing.T) {
	list := func(host, row string) []entry {
		dir := host + "/sos_commands/ovn_central/microovn.ovn-nbctl_--no-leader-only_list_"
		return []entry{file(dir+"NB_Global", "_uuid               : "+row+"\nname                : \"\"\n"), file(dir+"Logical_Switch", host)}
	}
	const one, two = "08442235-3924-4965-a33d-7b4c1ea5d326", "201bfc59-cffb-4c8f-a8eb-9c79220268ab"
	for _, c := range []struct {
		name    string
		entries []entry
		want    map[string]string // what is read
		zones   []string
	}{
		{"one host", list("a", one), map[string]string{"nb.list/Logical_Switch": "a"}, nil},
		{"members of a cluster", append(list("a", one), list("b", one)...), map[string]string{"nb.list/Logical_Switch": "a"}, nil},
		{"two zones", append(list("a", one), list("b", two)...), map[string]string{"a/nb.list/Logical_Switch": "a", "b/nb.list/Logical_Switch": "b"}, []string{"a", "b"}},
		{"a file", append(list("a", one), file("b/ovnnb_db.db", `OVSDB JSON 1 x {"name":"OVN_Northbound"}`)), map[string]string{"nb.db": `OVSDB JSON 1 x {"name":"OVN_Northbound"}`}, nil},
		{"no answer", []entry{file("a/sos_commands/ovn_central/ovn-nbctl_list_NB_Global", "ovn-nbctl: database connection failed ()\n")}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := openBytes(t, "x.tar", tarOf(t, c.entries...))
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				if b, err := tree.ReadFile(name, 100); err != nil || string(b) != want {
					t.Errorf("%s: %q, %v", name, b, err)
				}
			}
			zones, err := tree.Zones()
			if err != nil || !slices.Equal(zones, c.zones) {
				t.Errorf("zones %q, %v, want %q", zones, err, c.zones)
			}
			if top := tree.Databases(); top != (len(c.want) > 0 && len(c.zones) == 0) {
				t.Errorf("databases at the top: %v", top)
			}
			if tree.Has("nb.db") && tree.Has("nb.list") {
				t.Error("both the file and the lists are read")
			}
		})
	}
}

// Replies to control commands have their words in the names of files.
func TestReplies(t *testing.T) {
	for name, want := range map[string][]string{
		"ovs-appctl_fdb.show_br-ex":                                            {"fdb/show", "br-ex"},
		"ovs-appctl_dpctl.dump-conntrack_-m_system_ovs-system":                 {"dpctl/dump-conntrack", "-m", "system@ovs-system"},
		"ovs-appctl_-t_ovs-vswitchd_dpctl.dump-conntrack_-m_netdev@ovs-netdev": {"dpctl/dump-conntrack", "-m", "netdev@ovs-netdev"},
	} {
		tree, err := openBytes(t, "x.tar", tarOf(t, file("h/sos_commands/host/hostname", "h\n"), file("h/sos_commands/openvswitch/"+name, "reply")))
		if err != nil {
			t.Fatal(err)
		}
		b, err := tree.ReadFile("h/"+ControlFile("ovs-vswitchd", want[0], want[1:]), 1000)
		if err != nil || string(b) != Request("ovs-vswitchd", want[0], want[1:])+"\nreply" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// What commands printed is found beside the databases, in a directory and in an archive of it.
func TestDumpsBeside(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "saved")
	for _, name := range []string{"nb.db", "sb.db", "node1/conf.db", "node1/ovs-ofctl_dump-flows_br-int", "node1/ovs-ofctl_dump-groups_br-int", "node2/ovs-ofctl_dump-flows_br-int", "node2/flows-br-int.txt"} {
		write(t, filepath.Join(dir, name), name)
	}
	if err := os.Symlink("..", filepath.Join(dir, "node1", "up")); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(top, "saved.tar")
	if out, err := exec.Command("tar", "-C", top, "-cf", packed, "saved").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v, %s", err, out)
	}
	for _, source := range []string{dir, packed} {
		tree, err := Open(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tree.Close() })
		if nodes, err := tree.Nodes(); err != nil || !slices.Equal(nodes, []string{"node1", "node2"}) {
			t.Errorf("%s: nodes %q, %v", source, nodes, err)
		}
		if !tree.Databases() {
			t.Errorf("%s: no databases at the top", source)
		}
		for name, want := range map[string]string{
			"nb.db": "nb.db", "node1/flows-br-int.txt": "node1/ovs-ofctl_dump-flows_br-int", "node1/groups-br-int.txt": "node1/ovs-ofctl_dump-groups_br-int",
			"node2/flows-br-int.txt": "node2/flows-br-int.txt",
		} {
			if b, err := tree.ReadFile(name, 100); err != nil || string(b) != want {
				t.Errorf("%s: %s is %q, %v, want that of %s", source, name, b, err, want)
			}
		}
	}
}

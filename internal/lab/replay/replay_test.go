package replay

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

const deployments = "../../../testdata/deployments/"

func load(t *testing.T, path string) lab.Topology {
	t.Helper()
	topology, _, err := Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// The databases of a deployment say what its pods have and what its underlay is.
func TestLoad(t *testing.T) {
	for file, want := range map[string]struct {
		zones    bool
		pods     int
		services []string
		underlay lab.Underlay
		pod      lab.Pod // one of them
	}{
		"ovnk-1.3-ic": {
			zones: true, pods: 21,
			services: []string{"bank/vault tcp 10.96.237.144", "blue/b tcp 10.96.211.118", "default/kubernetes tcp 10.96.0.1", "shop/empty tcp 10.96.168.37",
				"shop/sticky tcp 10.96.14.20", "shop/web tcp 10.96.206.37", "shop/web udp 10.96.206.37", "shop/web-local tcp 10.96.177.36", "shop/web-np tcp 10.96.235.93"},
			underlay: lab.Underlay{MAC: "6a:45:14:0c:36:18", Routers: []netip.Prefix{netip.MustParsePrefix("172.19.0.1/24")}, Outside6: outside6},
			pod: lab.Pod{
				Name: "blue.blue.net_blue_b-2", In: "blue_b-2", Device: "ovn-udn1", Namespace: "blue", Pod: "b-2", Node: "ovn-worker", Link: "022fd70bff551_3",
				MAC: "0a:58:0a:14:01:03", IPv4: netip.MustParsePrefix("10.20.1.3/24"), Gateway4: netip.MustParseAddr("10.20.1.1"),
			},
		},
		"neutron-21.0.0-ovn-23.03": {
			pods: 19,
			underlay: lab.Underlay{Central: netip.MustParseAddr("172.31.0.10"), MAC: "56:6c:cd:09:31:42", Outside6: outside6, Routers: []netip.Prefix{
				netip.MustParsePrefix("172.31.0.1/24"), netip.MustParsePrefix("198.51.100.1/24"), netip.MustParsePrefix("2001:db8:113::1/64"),
			}},
			pod: lab.Pod{
				Name: "16639114-a111-43ea-aa86-d40ddefd8bfd", Pod: "ha-1", Node: "compute-1", Link: "tap16639114-a1", MAC: "fa:16:3e:fc:65:d8",
				IPv4: netip.MustParsePrefix("10.1.0.52/24"), Gateway4: netip.MustParseAddr("10.1.0.1"),
				IPv6: netip.MustParsePrefix("fd00:1::1c2/64"), Gateway6: netip.MustParseAddr("fd00:1::"), Virtual: []netip.Addr{netip.MustParseAddr("10.1.0.200")},
			},
		},
		"kubeovn-1.15.24-ovn-25.03": {
			pods: 10,
			underlay: lab.Underlay{Central: netip.MustParseAddr("172.32.0.10"), MAC: "1a:2a:cd:84:79:5c", Outside6: outside6, Routers: []netip.Prefix{
				netip.MustParsePrefix("172.32.0.1/24"), netip.MustParsePrefix("198.51.100.1/24"),
			}},
			pod: lab.Pod{
				Name: "vault-1.bank", Namespace: "bank", Pod: "vault-1", Node: "node2", Link: "c759804dd3ef_h", MAC: "fa:32:ec:38:14:c0",
				IPv4: netip.MustParsePrefix("10.17.0.2/16"), Gateway4: netip.MustParseAddr("10.17.0.1"),
			},
		},
	} {
		t.Run(file, func(t *testing.T) {
			got := load(t, deployments+file+".tar.zst")
			if got.Zones != want.zones || len(got.Pods) != want.pods || len(got.Nodes) != 3 {
				t.Errorf("zones %v, %d pods, %d nodes", got.Zones, len(got.Pods), len(got.Nodes))
			}
			var services []string
			for _, s := range got.Services {
				services = append(services, s.Name+" "+s.Protocol+" "+s.VIP4.String())
			}
			slices.Sort(services)
			equal := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
			prefix := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			for _, pair := range [][2]any{{want.services, services}, {want.underlay, got.Underlay}} {
				if diff := cmp.Diff(pair[0], pair[1], equal, prefix); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			i := slices.IndexFunc(got.Pods, func(p lab.Pod) bool { return p.Name == want.pod.Name })
			if i < 0 {
				t.Fatalf("no pod %s", want.pod.Name)
			}
			if diff := cmp.Diff(want.pod, got.Pods[i], equal, prefix); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Names in databases, and saved text, may come from anybody: a shell gets none that it would read as more than a word.
func TestLoadHostile(t *testing.T) {
	for name, change := range map[string]struct {
		file, from, to string
		refused        bool
	}{
		"port":      {"node1/conf.db", "603607d13e3e_h", "x;reboot", true},
		"bridge":    {"node1/conf.db", `"br-external"`, `"br;reboot"`, true},
		"device":    {"node1/conf.db", `"ovn0"`, `"ovn0;reboot"`, true},
		"system-id": {"node1/conf.db", "db9fc1aa-33af-dc31-31e8-c9e468307cf9", "$(reboot)", true},
		"iface-id":  {"node1/conf.db", `"iface-id","app-1.tenant"`, `"iface-id","nobody; reboot"`, false}, // no port: not replayed
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, deployments+"kubeovn-1.15.24-ovn-25.03.tar.zst")
			edit(t, filepath.Join(dir, change.file), change.from, change.to)
			got, _, err := Load(t.Context(), dir)
			if refused := err != nil; refused != change.refused {
				t.Errorf("refused is %v: %v", refused, err)
			}
			for _, n := range got.Nodes {
				for _, line := range n.Network {
					if err == nil && strings.Contains(line, "reboot") {
						t.Errorf("a shell gets %q", line)
					}
				}
			}
		})
	}
	if got := words("10.0.0.0/8 via 10.1.1.1 dev br-ex proto static"); got == "" {
		t.Error("a route is refused")
	}
	for _, line := range []string{"default via $(reboot)", "default dev x;y", "-batch /etc/passwd", "default `x`"} {
		if got := words(line); got != "" {
			t.Errorf("%q is taken", line)
		}
	}
}

// A node that used the kernel's datapath is replayed on the userspace one.
func TestLoadKernelDatapath(t *testing.T) {
	dir := unpack(t, deployments+"kubeovn-1.15.24-ovn-25.03.tar.zst")
	edit(t, filepath.Join(dir, "node1/conf.db"), `"datapath_type":"netdev"`, `"datapath_type":"system"`)
	want := map[string]int{"node1": 4, "node2": 0, "node3": 0} // three bridges, and ovn-controller
	for _, n := range load(t, dir).Nodes {
		if len(n.Vswitch) != want[n.Name] {
			t.Errorf("%s: %q", n.Name, n.Vswitch)
		}
	}
}

// unpack writes the databases of an archive into a directory.
func unpack(t *testing.T, file string) string {
	t.Helper()
	tree, err := archive.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	nodes, err := tree.Nodes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	databases := []string{"nb.db", "sb.db"}
	for _, n := range nodes {
		databases = append(databases, filepath.Join(n, "conf.db"))
	}
	for _, name := range databases {
		text, err := tree.ReadFile(name, textLimit)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// edit replaces text in a database file, whose records have checksums: each is written anew.
func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := ovsdb.RewriteRecords(text, func(record []byte) []byte { return bytes.ReplaceAll(record, []byte(from), []byte(to)) })
	if bytes.Equal(changed, text) {
		t.Fatalf("%s: no %q", file, from)
	}
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		t.Fatal(err)
	}
}

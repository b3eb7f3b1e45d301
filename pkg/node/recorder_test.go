//go:build lab

package node_test

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
)

func offline(t *testing.T, dir string) node.Host {
	t.Helper()
	tree, err := archive.Open(t.Context(), filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return node.Offline(tree, filepath.Base(dir))
}

// answers is all that a host says to a round of questions.
type answers struct {
	Rows     vswitchRows
	Network  *node.Network
	Pod      *node.PodNet
	Dumps    map[node.DumpKind]string
	Replies  []string
	Refusals []node.ControlError
	Routes   []*node.Route
	File     string
}

func ask(t *testing.T, h node.Host, pod string) (a answers) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("%s: %v", h.Origin(), err)
		}
	}
	var err error
	a.Rows = rows(t, h)
	a.Network, err = h.Network(t.Context())
	must(err)
	a.Dumps = map[node.DumpKind]string{}
	for _, kind := range []node.DumpKind{node.TLVMap, node.Groups, node.Ports} {
		a.Dumps[kind], err = h.Dump(t.Context(), "br-int", kind)
		must(err)
	}
	for _, c := range [][]string{
		{"ovs-vswitchd", "version"},
		{"ovs-vswitchd", "ofproto/trace", "br-int", "in_port=LOCAL,tcp,tp_dst=80"},
		{"ovs-vswitchd", "ofproto/trace", "br-int", "in_port=LOCAL,tcp,tp_dst=81"},
		{"ovs-vswitchd", "ofproto/trace", "br-int", "<nonsense>\n"},
		{"ovn-controller", "connection-status"},
	} {
		reply, err := h.Control(t.Context(), c[0], c[1], c[2:]...)
		if refusal, ok := errors.AsType[*node.ControlError](err); ok {
			a.Refusals = append(a.Refusals, *refusal)
			continue
		}
		must(err)
		a.Replies = append(a.Replies, reply)
	}
	a.Pod, err = h.Pod(t.Context(), pod)
	must(err)
	for _, dst := range []string{"203.0.113.10", "2001:db8:113::10", "127.0.0.1"} {
		q := node.RouteQuery{Dst: netip.MustParseAddr(dst)}
		r, err := h.Route(t.Context(), q)
		must(err)
		inside, err := a.Pod.Route(t.Context(), q)
		must(err)
		a.Routes = append(a.Routes, r, inside)
	}
	b, err := h.ReadFile(t.Context(), "/proc/sys/kernel/ostype")
	must(err)
	a.File = string(b)
	return a
}

func TestRecording(t *testing.T) {
	pod := podOn(t, "node2").Link
	for name, h := range map[string]node.Host{"here": local(t, "node2"), "behind": remote(t, "node2")} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "node2")
			recorded := node.Recorder(h, archive.Directory(dir))
			want := ask(t, recorded, pod)
			if err := node.RecordingError(recorded); err != nil {
				t.Fatal(err)
			}
			if len(want.Refusals) != 1 || len(want.Replies) != 4 {
				t.Fatalf("%d refusals and %d replies", len(want.Refusals), len(want.Replies))
			}
			got := ask(t, offline(t, dir), pod)
			if diff := cmp.Diff(want, got, values, anyOrder); diff != "" {
				t.Errorf("recorded answers differ (-live +recorded):\n%s", diff)
			}
			checkModes(t, dir)
		})
	}
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		if strings.Contains(d.Name(), ".new-") {
			t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What was not recorded is not in the source, and the error says what would be.
func TestNotRecorded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h := offline(t, dir)
	q := node.RouteQuery{Dst: netip.MustParseAddr("10.0.0.1")}
	for what, ask := range map[string]func() error{
		"conf.db":               func() error { _, err := h.Vswitch(t.Context()); return err },
		"network.json":          func() error { _, err := h.Network(t.Context()); return err },
		"ip route get 10.0.0.1": func() error { _, err := h.Route(t.Context(), q); return err },
		"nft list ruleset":      func() error { _, err := h.Firewall(t.Context()); return err },
		"tlv-map-br-int.txt":    func() error { _, err := h.Dump(t.Context(), "br-int", node.TLVMap); return err },
		"flows-br-int.txt":      func() error { _, err := h.Dump(t.Context(), "br-int", node.Flows); return err },
		"ofproto/trace br-int x": func() error {
			_, err := h.Control(t.Context(), "ovs-vswitchd", "ofproto/trace", "br-int", "x")
			return err
		},
		"/etc/os-release": func() error { _, err := h.ReadFile(t.Context(), "/etc/os-release"); return err },
		"veth1":           func() error { _, err := h.Pod(t.Context(), "veth1"); return err },
	} {
		err := ask()
		wantError(t, err, what)
		if !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: %v is not ErrUnavailable", what, err)
		}
	}
}

// Secrets are in no file of a recording.
func TestRecordingHidesSecrets(t *testing.T) {
	const secret = "Geheim0815"
	enter(t, "node3", "ovs-vsctl", "set", "open", ".", "external_ids:my-Token="+secret, "other_config:db-password="+secret)
	enter(t, "node3", "ovs-vsctl", "add-port", "br-int", "gre-psk", "--", "set", "interface", "gre-psk", "type=gre", "options:remote_ip=192.0.2.9", "options:psk="+secret)
	t.Cleanup(func() {
		enter(t, "node3", "ovs-vsctl", "del-port", "br-int", "gre-psk")
		enter(t, "node3", "ovs-vsctl", "remove", "open", ".", "external_ids", "my-Token", "--", "remove", "open", ".", "other_config", "db-password")
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, file, "user:\n  token: "+secret+"\n  client-key-data: "+secret+"\nPASSWORD="+secret+"\n-----BEGIN EC PRIVATE KEY-----\n"+secret+"\n-----END EC PRIVATE KEY-----\nharmless: yes\n")
	for _, h := range []node.Host{local(t, "node3"), remote(t, "node3")} {
		dir := filepath.Join(t.TempDir(), "node3")
		r := node.Recorder(h, archive.Directory(dir))
		live := rows(t, r)
		if b, err := r.ReadFile(t.Context(), file); err != nil || !strings.Contains(string(b), secret) {
			t.Fatalf("%v %s", err, b)
		}
		if err := node.RecordingError(r); err != nil {
			t.Fatal(err)
		}
		if live.Systems[0].ExternalIDs["my-Token"] != secret {
			t.Fatal("the secret is not in the live rows")
		}
		saved := offline(t, dir)
		s := rows(t, saved).Systems[0]
		if s.ExternalIDs["my-Token"] != "<hidden>" || s.OtherConfig["db-password"] != "<hidden>" || s.ExternalIDs["hostname"] != "node3" {
			t.Errorf("%s: %v %v", h.Origin(), s.ExternalIDs, s.OtherConfig)
		}
		if b, err := saved.ReadFile(t.Context(), file); err != nil || !strings.Contains(string(b), "harmless: yes") {
			t.Errorf("%s: %v %s", h.Origin(), err, b)
		}
		for _, name := range files(t, dir) {
			if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), secret) {
				t.Errorf("%s: a secret, or %v", name, err)
			}
		}
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	return names
}

// Names that would lead elsewhere stay in the directory.
func TestRecordingNames(t *testing.T) {
	for _, name := range []string{"..", ".", "", "a/b", "/etc", "nöde", "a\x1b[31m", strings.Repeat("x", 500)} {
		safe := archive.SafeName(name)
		if safe == "" || safe[0] == '.' || len(safe) > 120 || strings.ContainsFunc(safe, func(r rune) bool { return r > 'z' || r < '-' || r == '/' }) {
			t.Errorf("%q becomes %q", name, safe)
		}
	}
	if archive.SafeName("a/b") == archive.SafeName("a_b") {
		t.Error("two names become one")
	}
	if archive.SafeName("node-1.example") != "node-1.example" {
		t.Error("a plain name is changed")
	}
}

// A disk that takes no recording takes no answer away.
func TestRecordingCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	r := node.Recorder(local(t, "node1"), archive.Directory(filepath.Join(file, "node1")))
	if _, err := r.Control(t.Context(), "ovs-vswitchd", "version"); err != nil {
		t.Error(err)
	}
	wantError(t, node.RecordingError(r), "node1", "recording is incomplete", "not a directory")
}

// A saved answer to another question is none.
func TestOfflineForged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node1")
	r := node.Recorder(local(t, "node1"), archive.Directory(dir))
	if _, err := r.Control(t.Context(), "ovs-vswitchd", "version"); err != nil {
		t.Fatal(err)
	}
	names := files(t, dir)
	if len(names) != 1 || !slices.Equal(strings.Split(string(read(t, names[0])), "\n")[:1], []string{`["ovs-vswitchd","version"]`}) {
		t.Fatalf("%q", names)
	}
	write(t, names[0], `["ovs-vswitchd","fdb/show"]`+"\nx\n")
	_, err := offline(t, dir).Control(t.Context(), "ovs-vswitchd", "version")
	wantError(t, err, "another request")
	for _, name := range []string{"network.json", "firewall.json", "conf.db"} {
		write(t, filepath.Join(dir, name), "\x00{[")
	}
	h := offline(t, dir)
	if n, err := h.Network(t.Context()); err == nil {
		t.Errorf("network of nonsense: %v", n)
	}
	if n, err := h.Firewall(t.Context()); err == nil {
		t.Errorf("packet filter of nonsense: %v", n)
	}
	if db, err := h.Vswitch(t.Context()); err == nil {
		t.Errorf("rows of nonsense: %v", db)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

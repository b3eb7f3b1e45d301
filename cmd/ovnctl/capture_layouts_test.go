//go:build lab

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// A layout is a directory or archive as another tool leaves it, made of the lab.
type layout struct {
	t   *testing.T
	lab *lab.Lab
	dir string
}

func (y *layout) put(name string, content []byte) {
	y.t.Helper()
	name = filepath.Join(y.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		y.t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		y.t.Fatal(err)
	}
}

// file copies a file of a host.
func (y *layout) file(name, host, from string) {
	y.t.Helper()
	b, err := os.ReadFile(filepath.Join(y.lab.Dir, host, from))
	if err != nil {
		y.t.Fatal(err)
	}
	y.put(name, b)
}

func (y *layout) output(name, host string, args ...string) {
	y.t.Helper()
	y.put(name, []byte(say(y.t, y.lab, host, args...)))
}

func (y *layout) run(args ...string) {
	y.t.Helper()
	cmd := exec.CommandContext(y.t.Context(), args[0], args[1:]...)
	cmd.Dir = y.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		y.t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sosreport makes the directory of a host's sosreport.
func (y *layout) sosreport(host string) string {
	root := "sosreport-" + host + "-2026-11-22-abcdefg/"
	y.put(root+"sos_commands/host/hostname", []byte(host+"\n"))
	y.put(root+"sos_logs/sos.log", []byte("x\n"))
	if host == "central" {
		y.file(root+"var/lib/ovn/ovnnb_db.db", host, "var/lib/ovn/ovnnb_db.db")
		y.file(root+"var/lib/ovn/ovnsb_db.db", host, "var/lib/ovn/ovnsb_db.db")
		return root
	}
	y.file(root+"etc/openvswitch/conf.db", host, "etc/openvswitch/conf.db")
	y.file(root+"var/log/openvswitch/ovs-vswitchd.log", host, "var/log/openvswitch/ovs-vswitchd.log")
	y.output(root+"sos_commands/openvswitch/ovs-ofctl_-O_OpenFlow13_dump-flows_br-int", host, "ovs-ofctl", "-O", "OpenFlow13", "dump-flows", "br-int")
	y.output(root+"sos_commands/openvswitch/ovs-ofctl_dump-flows_br-int", host, "ovs-ofctl", "dump-flows", "br-int")
	y.output(root+"sos_commands/openvswitch/ovs-ofctl_-O_OpenFlow15_dump-groups_br-int", host, "ovs-ofctl", "-O", "OpenFlow15", "dump-groups", "br-int")
	y.output(root+"sos_commands/openvswitch/ovs-ofctl_-O_OpenFlow15_dump-tlv-map_br-int", host, "ovs-ofctl", "-O", "OpenFlow15", "dump-tlv-map", "br-int")
	y.output(root+"sos_commands/openvswitch/ovs-appctl_fdb.show_br-ex", host, "ovs-appctl", "fdb/show", "br-ex")
	return root
}

// sosText makes the directory of the sosreport of a host whose databases run in
// containers: commands were asked, no file was there to copy.
func (y *layout) sosText(host string) string {
	root := "sosreport-" + host + "-2026-11-22-textual/"
	y.put(root+"sos_commands/host/hostname", []byte(host+"\n"))
	for tool, schema := range map[string]string{"ovn-nbctl": "ovn-nb", "ovn-sbctl": "ovn-sb"} {
		var tables struct{ Tables map[string]any }
		text := say(y.t, y.lab, host, "cat", "/usr/share/ovn/"+schema+".ovsschema")
		if err := json.Unmarshal([]byte(text), &tables); err != nil {
			y.t.Fatal(err)
		}
		for table := range tables.Tables {
			if table != "Logical_Flow" {
				y.output(root+"sos_commands/ovn_central/"+tool+"_--no-leader-only_list_"+table, host, tool, "--no-leader-only", "list", table)
			}
		}
	}
	y.output(root+"sos_commands/ovn_central/ovn-sbctl_--no-leader-only_lflow-list", host, "ovn-sbctl", "--no-leader-only", "lflow-list")
	return root
}

// What other tools collect is recognised by itself, at any depth, and answers as the deployment did.
func TestCaptureLayouts(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	n := &onNode{lab: l, node: "central"}
	exec := []string{"--node-exec", l.Dir + "/enter {hostname}"}
	questions := [][]string{
		{"topology", "show", "--logical"},
		{"trace", "shop/client", "bank/ledger", "--tcp", "8080", "--logical"},
	}
	nodes := []string{"node1", "node2", "node3"}
	databases := map[string]string{"nbdb": "var/lib/ovn/ovnnb_db.db", "sbdb": "var/lib/ovn/ovnsb_db.db"}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(l.Dir, "central", databases[name]))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		make  func(y *layout) string // returns what --offline is given
		nodes []string               // whose Open_vSwitch is in it
	}{
		{"sosreports packed in a directory", func(y *layout) string {
			for _, host := range append([]string{"central"}, nodes...) {
				root := y.sosreport(host)
				y.run("tar", "-cJf", strings.TrimSuffix(root, "/")+".tar.xz", "--remove-files", root)
			}
			return "."
		}, nodes},
		{"sosreports unpacked, deep down", func(y *layout) string {
			y.dir += "/a/b/c"
			for _, host := range append([]string{"central"}, nodes...) {
				y.sosreport(host)
			}
			y.dir = strings.TrimSuffix(y.dir, "/a/b/c")
			return "a"
		}, nodes},
		{"a sosreport of the central alone", func(y *layout) string {
			y.run("tar", "-czf", "sos.tar.gz", y.sosreport("central"))
			return "sos.tar.gz"
		}, nil},
		{"must-gather, legacy", func(y *layout) string {
			const top = "must-gather.local.42/quay-io-sha256-0815/"
			for name := range databases {
				y.put(top+"network_logs/leader_"+name+".gz", zipped(t, read(name)))
			}
			y.put(top+"cluster-scoped-resources/core/nodes/node1.yaml", []byte("kind: Node\n"))
			return "must-gather.local.42"
		}, nil},
		{"must-gather, interconnect, one zone", func(y *layout) string {
			const top = "must-gather.local.42/quay-io-sha256-0815/network_logs/"
			for name := range databases {
				y.put(top+"ovnk_database_store/ovnkube-node-abcde_"+name, read(name))
			}
			y.run("tar", "-czf", top+"ovnk_database_store.tar.gz", "--remove-files", "-C", top, "ovnk_database_store")
			y.run("tar", "-czf", "mg.tar.gz", "must-gather.local.42")
			return "mg.tar.gz"
		}, nil},
		{"kubectl ko log, with databases beside", func(y *layout) string {
			for _, host := range nodes {
				y.file("kubectl-ko-log/"+host+"/openvswitch/ovs-vswitchd.log", host, "var/log/openvswitch/ovs-vswitchd.log")
			}
			y.put("kubectl-ko-log/ovnnb_db.db", read("nbdb"))
			y.put("kubectl-ko-log/ovnsb_db.db", read("sbdb"))
			return "."
		}, nil},
		{"text dumps", func(y *layout) string {
			for _, host := range nodes {
				y.file("case/"+host+"/conf.db", host, "etc/openvswitch/conf.db")
				y.output("case/"+host+"/ovs-ofctl-dump-flows_br-int.txt", host, "ovs-ofctl", "dump-flows", "br-int")
			}
			y.put("case/central/ovnnb_db.db", read("nbdb"))
			y.put("case/central/ovnsb_db.db", read("sbdb"))
			y.run("tar", "--zstd", "-cf", "case.tar.zst", "case")
			return "case.tar.zst"
		}, nodes},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := &layout{t: t, lab: l, dir: t.TempDir()}
			at := filepath.Join(y.dir, c.make(y))
			for _, q := range questions {
				live := n.ovnctl(t, slices.Concat(q, exec, []string{"-o", "json"})...)
				saved := n.ovnctl(t, slices.Concat(q, []string{"--offline", at, "-o", "json"})...)
				want, got := topologyDocument(t, live), topologyDocument(t, saved)
				for _, doc := range []map[string]any{want, got} {
					delete(doc, "notes")
					// Of the interfaces the files lack what a server does not keep in them.
					without(doc, "interfaces")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q (-live +saved):\n%s%s", q, diff, saved.stderr)
				}
			}
			var doc struct{ Source struct{ Nodes []string } }
			a := n.ovnctl(t, "topology", "show", "--offline", at, "-o", "json")
			if err := json.Unmarshal(a.stdout, &doc); err != nil {
				t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
			}
			if !slices.Equal(doc.Source.Nodes, c.nodes) && len(doc.Source.Nodes)+len(c.nodes) > 0 {
				t.Errorf("nodes %q, want %q\n%s", doc.Source.Nodes, c.nodes, a.stderr)
			}
			d := n.ovnctl(t, "doctor", "--offline", at, "-o", "json")
			if d.code == exitUsage || strings.Contains(string(d.stderr), "panic") || !strings.Contains(string(d.stdout), `"Report"`) {
				t.Errorf("doctor: exit %d\n%s", d.code, d.stderr)
			}
		})
	}

	t.Run("text of tables alone", func(t *testing.T) {
		y := &layout{t: t, lab: l, dir: t.TempDir()}
		y.sosText("central")
		for _, host := range nodes {
			y.sosreport(host)
		}
		live := topologyDocument(t, n.ovnctl(t, slices.Concat(questions[0], exec, []string{"-o", "json"})...))
		saved := topologyDocument(t, n.ovnctl(t, slices.Concat(questions[0], []string{"--offline", y.dir, "-o", "json"})...))
		for _, doc := range []map[string]any{live, saved} {
			delete(doc, "notes")
			without(doc, "interfaces")
		}
		if diff := cmp.Diff(live, saved); diff != "" {
			t.Errorf("(-live +saved):\n%s", diff)
		}
		a := n.ovnctl(t, slices.Concat(questions[1], []string{"--offline", y.dir})...)
		if a.code != exitUnknown || !strings.Contains(string(a.stdout)+string(a.stderr), "logical flows") {
			t.Errorf("a trace without logical flows: exit %d\n%s%s", a.code, a.stdout, a.stderr)
		}
	})
	t.Run("a database file", func(t *testing.T) {
		y := &layout{t: t, lab: l, dir: t.TempDir()}
		y.put("whatever.bin", read("sbdb"))
		y.run("gzip", "-k", "whatever.bin")
		y.run("zstd", "-q", "whatever.bin")
		y.run("sh", "-c", "mkdir packed && zstd -qc whatever.bin > packed/sb.db")
		for _, at := range []string{"whatever.bin", "whatever.bin.gz", "whatever.bin.zst", "packed"} {
			a := n.ovnctl(t, "topology", "show", "--offline", filepath.Join(y.dir, at))
			if !strings.Contains(string(a.stdout), "3 chassis") {
				t.Errorf("%s: exit %d\n%s%s", at, a.code, a.stdout, a.stderr)
			}
		}
	})
	t.Run("nothing of ours", func(t *testing.T) {
		y := &layout{t: t, lab: l, dir: t.TempDir()}
		y.put("holiday.jpg", []byte("\xff\xd8"))
		for _, at := range []string{y.dir, filepath.Join(y.dir, "holiday.jpg")} {
			a := n.ovnctl(t, "topology", "show", "--offline", at)
			if a.code != exitUnknown || !strings.Contains(string(a.stderr), "sosreport") {
				t.Errorf("%s: exit %d\n%s%s", at, a.code, a.stdout, a.stderr)
			}
		}
	})
}

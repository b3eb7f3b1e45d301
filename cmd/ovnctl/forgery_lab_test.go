//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// forgery is a name that ends the line it stands in, in every way, to begin one of its own: a verdict, a hint, a row of a table, an
// element of XML.
const forgery = "x\nhint: FORGED\nFORGED 1\r\nFORGED 2\x1b[2K\rFORGED 3\u2028FORGED 4\u0085FORGED 5\vFORGED 6\x1b]0;FORGED\a" +
	`%s%n{{.}}]]></failure></testcase><testcase name="FORGED"/>` + "\n| FORGED |\n# FORGED\n```\nFORGED 7\n\n- FORGED\x00"

// forged fails for a line that begins with what only a name says.
func forged(t *testing.T, what string, text []byte) {
	t.Helper()
	for line := range bytes.Lines(text) {
		line = bytes.TrimLeft(line, " \t|#*>-`")
		if bytes.HasPrefix(bytes.TrimPrefix(line, []byte("hint: ")), []byte("FORGED")) {
			t.Errorf("%s: a name forges a line: %q", what, line)
			return
		}
	}
}

// forgingDeployment has a disabled port, a chassis that is gone, an interface with an error and more, which have such names.
func forgingDeployment(t *testing.T) (nb, sb, vs *ovsdbtest.Server, flags []string) {
	t.Helper()
	name := strings.TrimSuffix(forgery, "\x00") // ovsdb-server(1) refuses zero bytes
	q, err := json.Marshal(name)
	check(t, err)
	text := string(q)
	port := `"port ` + text[1:]
	nb, sb, vs = ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound), ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	keys := fmt.Sprintf(`["map",[[%s,%s],["namespace",%s],["pod","true"]]]`, text, text, text)
	nb.Transact(fmt.Sprintf(`{"op":"insert","table":"NB_Global","row":{"name":%s,"options":["map",[[%s,%s],["northd_internal_version",%s]]],"external_ids":%s}}`, text, text, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":%s,"enabled":false,"addresses":["set",[%s,"0a:00:00:00:00:01 10.0.0.1"]],"options":["map",[["requested-chassis",%s]]],"external_ids":%s}}`, port, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"u","row":{"name":%q,"type":"router","options":["map",[["router-port",%s]]],"external_ids":%s}}`, "up", text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Load_Balancer","uuid-name":"l","row":{"name":%s,"vips":["map",[["10.96.0.1:80",%s],[%s,"10.0.0.1:80"]]],"options":["map",[[%s,%s]]],"external_ids":%s}}`, text, text, text, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"ACL","uuid-name":"a","row":{"name":"acl","match":%s,"action":"drop","direction":"to-lport","priority":1,"external_ids":%s}}`, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"DNS","uuid-name":"d","row":{"records":["map",[[%s,%s]]],"external_ids":%s}}`, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":%s,"ports":["set",[["named-uuid","p"],["named-uuid","u"]]],"acls":["named-uuid","a"],"load_balancer":["named-uuid","l"],"dns_records":["named-uuid","d"],"other_config":%s,"external_ids":%s}}`, text, keys, keys),
		fmt.Sprintf(`{"op":"insert","table":"NAT","uuid-name":"n","row":{"type":"dnat_and_snat","external_ip":%s,"logical_ip":%s,"logical_port":%s,"external_ids":%s}}`, text, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Router_Static_Route","uuid-name":"s","row":{"ip_prefix":%s,"nexthop":%s,"output_port":%s,"external_ids":%s}}`, text, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Router_Port","uuid-name":"r","row":{"name":%s,"mac":%s,"networks":%s,"enabled":false,"external_ids":%s}}`, text, text, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Logical_Router","row":{"name":%s,"ports":["named-uuid","r"],"nat":["named-uuid","n"],"static_routes":["named-uuid","s"],"options":["map",[["chassis",%s]]],"external_ids":%s}}`, text, text, keys))
	sb.Transact(`{"op":"insert","table":"SB_Global","row":{}}`,
		fmt.Sprintf(`{"op":"insert","table":"Encap","uuid-name":"e","row":{"type":"geneve","ip":%s,"chassis_name":%s,"options":["map",[[%s,%s]]]}}`, text, text, text, text),
		fmt.Sprintf(`{"op":"insert","table":"Chassis","uuid-name":"c","row":{"name":%s,"hostname":%s,"encaps":["named-uuid","e"],"external_ids":%s,"other_config":["map",[["ovn-bridge-mappings",%s]]]}}`, text, text, keys, text),
		fmt.Sprintf(`{"op":"insert","table":"Chassis_Private","row":{"name":%s,"chassis":["named-uuid","c"],"external_ids":%s}}`, text, keys),
		fmt.Sprintf(`{"op":"insert","table":"Datapath_Binding","uuid-name":"d","row":{"tunnel_key":1,"external_ids":["map",[["name",%s]]]}}`, text),
		fmt.Sprintf(`{"op":"insert","table":"MAC_Binding","row":{"logical_port":%s,"ip":%s,"mac":%s,"datapath":["named-uuid","d"]}}`, text, text, text),
		fmt.Sprintf(`{"op":"insert","table":"Port_Binding","row":{"logical_port":%s,"tunnel_key":1,"datapath":["named-uuid","d"],"chassis":["named-uuid","c"],"mac":%s,"external_ids":%s}}`, text, text, keys))
	vs.Transact(fmt.Sprintf(`{"op":"insert","table":"Interface","uuid-name":"i","row":{"name":%s,"error":%s,"external_ids":["map",[["iface-id",%s]]]}}`, text, text, text),
		fmt.Sprintf(`{"op":"insert","table":"Port","uuid-name":"p","row":{"name":%s,"interfaces":["named-uuid","i"]}}`, text),
		fmt.Sprintf(`{"op":"insert","table":"Bridge","uuid-name":"b","row":{"name":%s,"ports":["named-uuid","p"]}}`, text),
		fmt.Sprintf(`{"op":"insert","table":"Open_vSwitch","row":{"bridges":["named-uuid","b"],"external_ids":["map",[["system-id",%s],["hostname",%s],["ovn-bridge",%s],["ovn-remote",%s],["ovn-encap-ip",%s],["ovn-encap-type",%s],["ovn-bridge-mappings",%s]]]}}`, text, text, text, text, text, text, text))
	return nb, sb, vs, []string{"--nb", nb.Remote(), "--sb", sb.Remote(), "--ovs", vs.Remote(), "--host-root", t.TempDir()}
}

// TestForgedLines holds that no name in a database makes a line of its own in what ovnctl prints or writes: every command in every
// format, the journal, a capture, and what it leaves in the server's file.
func TestForgedLines(t *testing.T) {
	nb, _, _, flags := forgingDeployment(t)
	name := strings.TrimSuffix(forgery, "\x00")
	state := filepath.Join(t.TempDir(), "state")
	ask := func(args ...string) hardRun {
		t.Helper()
		r := hard(t, nil, append(slices.Clone(args[:1]), append(slices.Clone(flags), args[1:]...)...)...)
		what := fmt.Sprintf("%.60q", args)
		unclean(t, r)
		forged(t, what+" standard output", r.stdout)
		forged(t, what+" standard error", r.stderr)
		if r.code < exitOK || r.code > exitFix {
			t.Errorf("%s", r)
		}
		return r
	}
	for _, format := range render.DoctorFormats {
		r := ask("doctor", "-o", format)
		if r.code != exitFound || !bytes.Contains(r.stdout, []byte("FORGED")) {
			t.Errorf("want findings that name the forgery\n%s", r)
		}
		if format == "junit" {
			cases(t, r.stdout)
		}
		ask("doctor", "-o", format, "--", name)
		ask("topology", "show", "-o", "tree", "--", name)
	}
	fix := func(args ...string) hardRun {
		t.Helper()
		return ask(append([]string{"fix", "--state-dir", state}, args...)...)
	}
	for _, format := range []string{"table", "json"} {
		fix("enable-port", "--dry-run", "-o", format, "--", name)
		fix("enable-port", "--dry-run", "-o", format, "--", name+"?")
		fix("remove-port", "--dry-run", "-o", format, "--", name)
		fix("delete-chassis", "--dry-run", "-o", format, "--", name)
		fix("set-bridge-mapping", "--dry-run", "-o", format, "--", name, name)
	}
	if r := fix("enable-port", "--yes", "--", "port "+name); r.code != exitOK {
		t.Errorf("%s", r)
	}
	fix("list", "--done")
	fix("list", "--done", "-o", "json")
	cutOff(t, state)
	ask("doctor", "--state-dir", state)
	fix("recover")
	fix("undo", "--yes")
	fix("undo", "99", "--yes")
	journal, err := filepath.Glob(filepath.Join(state, "journal", "*.jsonl"))
	if err != nil || len(journal) == 0 {
		t.Fatalf("no journal: %v", err)
	}
	for _, file := range journal {
		text := read(t, file)
		forged(t, file, text)
		for line := range bytes.Lines(text) {
			if !json.Valid(line) {
				t.Errorf("%s: not a document: %q", file, line)
			}
		}
	}

	ask("reach")
	ask("trace", "--", name, name)
	ask("trace", "--", name, "up")
	file := filepath.Join(t.TempDir(), "c.tar.zst")
	ask("capture", file)
	flags = []string{"--offline", file}
	for _, format := range []string{"table", "md", "json"} {
		ask("doctor", "-o", format)
	}
	ask("compare", "--", file, "demo")
	inCapture(t, file)

	log, err := exec.Command("ovsdb-tool", "show-log", nb.File).CombinedOutput()
	check(t, err)
	if !bytes.Contains(log, []byte("ovnctl: ")) {
		t.Errorf("nothing in the server's file is ovnctl's: %s", log)
	}
	forged(t, "ovsdb-tool show-log", log)
}

// cases fails for a test case that no check has reported.
func cases(t *testing.T, report []byte) {
	t.Helper()
	in := xml.NewDecoder(bytes.NewReader(report))
	for n := 0; ; n++ {
		token, err := in.Token()
		if errors.Is(err, io.EOF) && n > 0 {
			return
		}
		check(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Value, "FORGED") {
				t.Errorf("a name forges an element: %v", start)
			}
		}
	}
}

// cutOff leaves of the last run in the journal what a kill in mid-step does.
func cutOff(t *testing.T, state string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "journal", "*.jsonl"))
	check(t, err)
	for _, file := range slices.Backward(files) {
		text := read(t, file)
		at := bytes.Index(text, []byte(`"state":"begun"`))
		if at < 0 {
			continue
		}
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		check(t, os.WriteFile(file, text[:end], 0o600))
		return
	}
	t.Errorf("no run of the journal has begun a step: %v", files)
}

// inCapture fails for a line that a name makes in what ovnctl itself writes into a capture, and for files outside of it.
func inCapture(t *testing.T, file string) {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("tar", "--zstd", "-xf", file, "-C", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if strings.ContainsFunc(d.Name(), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 }) {
			t.Errorf("the capture has a file %q", d.Name())
		}
		if err == nil && !d.IsDir() {
			forged(t, strings.TrimPrefix(path, dir), read(t, path))
		}
		return err
	}))
}

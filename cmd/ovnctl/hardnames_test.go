//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// hostile names would clear the screen, set the title, write into the clipboard, turn the line around, hide letters, forge lines.
var hostile = []string{
	"esc\x1b[2J\x1b[31m",
	"osc\x1b]0;owned\x07",
	"clip\x1b]52;c;b3duZWQ=\x1b\\",
	"c1\u009b31m\u0085",
	"bidi\u202e\u2066\u200f",
	"hidden\u200b\ufeff\u00ad\U000e0041",
	"line\nDELIVERED forged\r\n",
	"tab\tvt\vbs\b\b\bdel\x7f",
	"sep\u2028\u2029",
	"dot\"];evil[label=\"x",
	"md|`</pre><script>alert(1)</script>",
	"long" + strings.Repeat("x", 300),
}

// hostileNorthbound is the remote of a Northbound whose switches, routers, ports, services and rules have such names.
func hostileNorthbound(t *testing.T) string {
	nb := ovsdbtest.Start(t, ovsdbtest.Northbound)
	var ops []string
	for i, name := range hostile {
		q := func(s string) string { b, err := json.Marshal(s); check(t, err); return string(b) }
		ops = append(ops,
			fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p%d","row":{"name":%s,"addresses":%s,"type":%s,"external_ids":["map",[["namespace",%s],["pod","true"]]]}}`, i, q("p"+name), q("0a:00:00:00:00:01 10.0.0.1 "+name), q([]string{"", name}[i%2]), q(name)),
			fmt.Sprintf(`{"op":"insert","table":"ACL","uuid-name":"a%d","row":{"direction":"to-lport","priority":1001,"action":"drop","match":%s,"external_ids":["map",[["k",%s]]]}}`, i, q(name), q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Load_Balancer","uuid-name":"l%d","row":{"name":%s,"vips":["map",[["10.96.0.%d:80",%s]]]}}`, i, q("l"+name), i+1, q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":%s,"ports":["named-uuid","p%d"],"acls":["named-uuid","a%d"],"load_balancer":["named-uuid","l%d"],"external_ids":["map",[[%s,%s]]]}}`, q("s"+name), i, i, i, q(name), q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Router_Port","uuid-name":"r%d","row":{"name":%s,"mac":"0a:00:00:00:00:02","networks":%s}}`, i, q("rp"+name), q("10.0.0.2/24")),
			fmt.Sprintf(`{"op":"insert","table":"NAT","uuid-name":"n%d","row":{"type":"snat","external_ip":%s,"logical_ip":%s}}`, i, q(name), q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Router_Static_Route","uuid-name":"t%d","row":{"ip_prefix":%s,"nexthop":%s}}`, i, q(name), q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Router_Policy","uuid-name":"y%d","row":{"priority":%d,"match":%s,"action":"drop"}}`, i, i+1, q(name)),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Router","row":{"name":%s,"ports":["named-uuid","r%d"],"nat":["named-uuid","n%d"],"static_routes":["named-uuid","t%d"],"policies":["named-uuid","y%d"],"options":["map",[["chassis",%s]]]}}`, q("r"+name), i, i, i, i, q(name)))
	}
	nb.Transact(ops...)
	return nb.Remote()
}

// unclean fails for what a terminal would act upon or hide; colours are off.
func unclean(t *testing.T, r hardRun) {
	t.Helper()
	for _, stream := range []struct {
		name string
		text []byte
	}{{"output", r.stdout}, {"error", r.stderr}} {
		if !utf8.Valid(stream.text) {
			t.Errorf("standard %s is not UTF-8\n%s", stream.name, r)
		}
		for i, c := range string(stream.text) {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("standard %s has %U at byte %d: %q\n%.300s", stream.name, c, i, around(stream.text, i), strings.Join(r.args, " "))
				break
			}
		}
	}
}

func around(text []byte, i int) []byte { return text[max(0, i-40):min(len(text), i+40)] }

// TestHostileNames shows and traces them in every format, by name too: nothing of them reaches the terminal, and programs get
// them back unchanged.
func TestHostileNames(t *testing.T) {
	nb := hostileNorthbound(t)
	questions := [][]string{{"topology", "show"}, {"topology", "show", "--show-commands"}, {"topology", "show", "--logical"}}
	for _, name := range hostile {
		questions = append(questions, []string{"topology", "show", "s" + name}, []string{"topology", "show", name + "?"},
			[]string{"trace", "lsp:p" + name, "ip:10.0.0.1"}, []string{"trace", "p" + name, name})
	}
	for _, q := range questions {
		formats := render.TopologyFormats
		if q[0] == "trace" {
			formats = []string{"tree", "json", "yaml", "md"}
		}
		for _, format := range formats {
			r := hard(t, nil, append([]string{"--nb", nb, "-o", format}, q...)...)
			unclean(t, r)
			var doc map[string]any
			switch format {
			case "json":
				if err := json.Unmarshal(r.stdout, &doc); err != nil {
					t.Errorf("%v\n%s", err, r)
				}
			case "yaml":
				if err := yaml.Unmarshal(r.stdout, &doc); err != nil {
					t.Errorf("%v\n%s", err, r)
				}
			case "tree", "table":
				if bytes.Contains(r.stdout, []byte("\nDELIVERED")) {
					t.Errorf("a name forges a line\n%s", r)
				}
			}
			if len(q) == 2 && doc != nil {
				roundTrip(t, doc, format)
			}
		}
	}
}

// roundTrip finds all hostile names in a document, as they are in the database.
func roundTrip(t *testing.T, doc map[string]any, format string) {
	t.Helper()
	var names []string
	for _, s := range doc["switches"].([]any) {
		names = append(names, s.(map[string]any)["name"].(string))
	}
	for _, name := range hostile {
		if !slices.Contains(names, "s"+name) {
			t.Errorf("%s: %q is not among the names", format, "s"+name)
		}
	}
}

// TestBrokenUTF8 has what an OVSDB server refuses come from a file.
func TestBrokenUTF8(t *testing.T) {
	r := hard(t, nil, "--nb", "unix:/nonexistent/\xff\xfe\x1b[31m", "topology", "show", "\xff")
	r.want(t, exitUnknown, `\xff\xfe\x1b[31m`)
	unclean(t, r)
	for _, format := range []string{"tree", "json", "yaml"} {
		r = hard(t, nil, "--offline", saved, "-o", format, "topology", "show", "\xff\x9b\x1b]0;x\x07")
		r.want(t, exitUsage)
		unclean(t, r)
	}
}

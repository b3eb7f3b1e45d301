package anonymize

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// columns are the fields of rows whose keys redaction replaces unless they are known.
var columns = map[string]bool{"ExternalIDs": true, "Options": true, "OtherConfig": true, "IPv6RAConfigs": true, "Status": true, "Statistics": true, "BFDStatus": true}

// TestKeysOfEngine holds that redaction keeps each key of a map that a package of the engine reads: a verdict that rests on it would
// be another otherwise.
func TestKeysOfEngine(t *testing.T) {
	read := 0
	r := New()
	r.settle()
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			key, ok := keyRead(n)
			if !ok {
				return true
			}
			read++
			if got := r.key(key); got != key {
				t.Errorf("%s: the key %q is not in keys.txt: redaction makes %s of it", set.Position(n.Pos()), key, got)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 100 {
		t.Errorf("only %d keys are read: do the rows have other names?", read)
	}
}

// keyRead returns the key in an expression like row.ExternalIDs["key"].
func keyRead(n ast.Node) (string, bool) {
	x, ok := n.(*ast.IndexExpr)
	if !ok {
		return "", false
	}
	column, ok := x.X.(*ast.SelectorExpr)
	key, literal := x.Index.(*ast.BasicLit)
	if !ok || !literal || !columns[column.Sel.Name] || key.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(key.Value)
	return text, err == nil
}

// TestSettingsOfHosts holds that redaction keeps the names of the kernel's settings that are read of a host or a pod.
func TestSettingsOfHosts(t *testing.T) {
	files, err := filepath.Glob("../../node/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var settings []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if s, err := strconv.Unquote(text.Value); err == nil && strings.HasPrefix(s, "net/") && strings.Count(s, "/") > 1 {
					settings = append(settings, strings.TrimSuffix(strings.ReplaceAll(s, "*", "lo"), "/"))
				}
			}
			return true
		})
	}
	settings = append(settings, "net/ipv6/conf/lo/hop_limit", "net/ipv6/conf/lo/forwarding")
	if len(settings) < 15 {
		t.Errorf("only %d settings", len(settings))
	}
	r := New()
	for _, s := range settings {
		if _, got := r.File("node1/network.json", []byte(`{"sysctl":{"`+s+`":"1"}}`)); !strings.Contains(string(got), `"`+s+`"`) {
			t.Errorf("%s: redaction makes %s of it", s, got)
		}
	}
}

// TestFieldsOfHosts holds that redaction keeps the names of what is saved of a host or a pod, and the values that a verdict rests on.
func TestFieldsOfHosts(t *testing.T) {
	files, err := filepath.Glob("../../node/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, name := range files {
		switch filepath.Base(name) {
		case "ipjson.go", "answer.go": // neither what ip(8) and tc(8) print nor what one ovnctl asks another is saved
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil && !strings.HasSuffix(name, "_test.go") {
				tag, _ := strconv.Unquote(field.Tag.Value)
				if key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); key != "" && key != "-" {
					fields = append(fields, key)
				}
			}
			return true
		})
	}
	if len(fields) < 100 {
		t.Errorf("only %d fields", len(fields))
	}
	r := New()
	for _, s := range fields {
		if _, got := r.File("node1/pod/p.json", []byte(`{"`+s+`":1}`)); string(got) != `{"`+s+`":1}` {
			t.Errorf("field %s: redaction makes %s of it", s, got)
		}
	}
	for key, values := range map[string]string{
		"kind":  "veth tun bridge openvswitch bond vlan vrf dummy macvlan ipvlan team geneve vxlan gre device",
		"qdisc": "noqueue noop pfifo bfifo pfifo_fast fq fq_codel fq_pie codel sfq mq mqprio multiq netem tbf htb clsact ingress",
		"oper":  "up down unknown lowerlayerdown notpresent",
		"scope": "global link host site nowhere",
		"state": "reachable stale permanent failed incomplete delay probe noarp none",
		"type":  "unicast local blackhole unreachable prohibit throw broadcast multicast anycast",
		"flags": "dadfailed deprecated dynamic secondary tentative noprefixroute permanent temporary",
	} {
		for value := range strings.FieldsSeq(values) {
			if _, got := r.File("node1/pod/p.json", []byte(`{"`+key+`":"`+value+`"}`)); string(got) != `{"`+key+`":"`+value+`"}` {
				t.Errorf("%s: redaction makes %s of it", value, got)
			}
		}
	}
}

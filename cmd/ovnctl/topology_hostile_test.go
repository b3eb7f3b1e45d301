//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// TestTopologyHostileNames shows a deployment whose names would take over the
// terminal, in every format: nothing of it gets there, and documents stay valid.
func TestTopologyHostileNames(t *testing.T) {
	nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	vs := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	evil := []string{"\x1b[2J\x1b]0;gone\x07", "\u202egnp.exe", "\u009b31m", "a\nroot# ", "\u200b\u2066", "a\"]; b [label=\"c", "`$(x)`|<script>"}
	for i, name := range evil {
		q, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(q)
		nb.Transact(fmt.Sprintf(`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":%s,"addresses":%s,"options":["map",[[%s,%s]]],"external_ids":["map",[["pod","true"],["namespace",%s]]]}}`, text, text, text, text, text),
			fmt.Sprintf(`{"op":"insert","table":"Load_Balancer","uuid-name":"l","row":{"name":%s,"vips":["map",[[%s,%s]]]}}`, text, text, text),
			fmt.Sprintf(`{"op":"insert","table":"ACL","uuid-name":"a","row":{"name":%s,"match":%s,"action":"drop","direction":"to-lport","priority":1}}`, text, text),
			fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":%s,"ports":["named-uuid","p"],"acls":["named-uuid","a"],"load_balancer":["named-uuid","l"],"external_ids":["map",[[%s,%s]]]}}`, text, text, text))
		sb.Transact(fmt.Sprintf(`{"op":"insert","table":"Encap","uuid-name":"e","row":{"type":"geneve","ip":%s,"chassis_name":%s}}`, text, text),
			fmt.Sprintf(`{"op":"insert","table":"Chassis","uuid-name":"c","row":{"name":%s,"hostname":%s,"encaps":["named-uuid","e"]}}`, text, text),
			fmt.Sprintf(`{"op":"insert","table":"Datapath_Binding","uuid-name":"d","row":{"tunnel_key":%d,"external_ids":["map",[["name",%s]]]}}`, i+1, text),
			fmt.Sprintf(`{"op":"insert","table":"Port_Binding","row":{"logical_port":%s,"tunnel_key":1,"datapath":["named-uuid","d"],"chassis":["named-uuid","c"],"mac":%s}}`, text, text))
		if i == 0 {
			vs.Transact(fmt.Sprintf(`{"op":"insert","table":"Interface","uuid-name":"i","row":{"name":%s,"error":%s,"external_ids":["map",[["iface-id",%s]]]}}`, text, text, text),
				fmt.Sprintf(`{"op":"insert","table":"Port","uuid-name":"p","row":{"name":%s,"interfaces":["named-uuid","i"]}}`, text),
				fmt.Sprintf(`{"op":"insert","table":"Bridge","uuid-name":"b","row":{"name":%s,"ports":["named-uuid","p"]}}`, text),
				fmt.Sprintf(`{"op":"insert","table":"Open_vSwitch","row":{"bridges":["named-uuid","b"],"external_ids":["map",[["system-id",%s],["ovn-bridge",%s]]]}}`, text, text))
		}
	}
	remotes := []string{"--nb", nb.Remote(), "--sb", sb.Remote(), "--ovs", vs.Remote()}
	for _, format := range render.TopologyFormats {
		for _, names := range [][]string{nil, {"lsp:" + evil[0]}, {"lsp:" + evil[5]}, {"\x1b[31mnobody"}} {
			var stdout, stderr bytes.Buffer
			args := append(append(slices.Clone(remotes), "topology", "show", "-o", format, "--"), names...)
			code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			wanted := exitOK
			if len(names) > 0 && names[0] == "\x1b[31mnobody" {
				wanted = exitUsage
			}
			if code != wanted {
				t.Errorf("%s of %q: exit %d, want %d: %s", format, names, code, wanted, stderr.String())
			}
			if wanted == exitOK && !strings.Contains(stdout.String(), "gnp.exe") && names == nil {
				t.Errorf("%s: the ports are not shown: %s", format, stdout.String())
			}
			for _, text := range []string{stdout.String(), stderr.String()} {
				for _, r := range text {
					if r != '\n' && !unicode.IsPrint(r) {
						t.Errorf("%s of %q: %U in the output", format, names, r)
						break
					}
				}
			}
			if format == "json" && !json.Valid(stdout.Bytes()) {
				t.Errorf("of %q: not JSON: %s", names, stdout.String())
			}
		}
	}
}

// TestTopologyDeadSouthbound has a Southbound that listens and says nothing: the
// first line comes within about a second, the rest is shown, and the exit code
// says that something is missing.
func TestTopologyDeadSouthbound(t *testing.T) {
	nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+nb.Remote(), "--timeout=10", "ls-add", "sw0", "--", "lsp-add", "sw0", "p0")
	sb.Signal(syscall.SIGSTOP)
	var stdout bytes.Buffer
	stderr := &timedBuffer{start: time.Now()}
	args := []string{"--nb", nb.Remote(), "--sb", sb.Remote(), "--ovs", "unix:" + filepath.Join(t.TempDir(), "none"), "-t", "3", "topology", "show"}
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, stderr); code != exitUnknown {
		t.Errorf("exit %d, want %d", code, exitUnknown)
	}
	if took := time.Since(stderr.start); took > 8*time.Second {
		t.Errorf("took %s with a timeout of 3 s", took)
	}
	if stderr.first == 0 || stderr.first > 2*time.Second {
		t.Errorf("the first line came after %s", stderr.first)
	}
	if !strings.Contains(stdout.String(), "switch sw0") || !strings.Contains(stdout.String(), "port p0") {
		t.Errorf("the Northbound is not shown: %s", stdout.String())
	}
	if !strings.Contains(stderr.String(), "OVN_Southbound at "+sb.Remote()) {
		t.Errorf("the Southbound is not named: %s", stderr.String())
	}
}

// A timedBuffer notes when something is first written to it.
type timedBuffer struct {
	bytes.Buffer
	start time.Time
	first time.Duration
}

func (b *timedBuffer) Write(p []byte) (int, error) {
	if b.first == 0 {
		b.first = time.Since(b.start)
	}
	return b.Buffer.Write(p)
}

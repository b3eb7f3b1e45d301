//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestMicroflowCommand compares the command with ovn-trace: options, text and what is refused.
func TestMicroflowCommand(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	const packet = `inport == "shop_web-1" && eth.src == 0a:58:0a:f4:01:05 && eth.dst == 0a:58:0a:f4:01:01 && ` +
		`ip4.src == 10.244.1.5 && ip4.dst == 10.96.0.10 && tcp.dst == 80 && ip.ttl == 64`
	asks := []struct {
		code int
		args []string
	}{
		{0, []string{packet}},
		{0, []string{"--ct=new", "--lb-dst=10.244.2.5:8080", "--all", packet}},
		{0, []string{"--ct=new", "--ct=est,rpl", "--lb-dst=10.244.3.5", "--summary", "--minimal", "--select-id=1", packet}},
		{0, []string{"--no-friendly-names", "node1", packet}},
		{exitUsage, []string{`inport == "nope" && ip4`}},
		{exitUsage, []string{"nowhere", packet}},
		{exitUsage, []string{`inport == "shop_web-1" && tcp`}},
		{exitUsage, []string{`inport == "shop_web-1" && ip4 && ip6`}},
		{exitUsage, []string{`inport == shop_web-1`}},
	}
	for _, ask := range asks {
		want, err := exec.CommandContext(t.Context(), "ovn-trace", append([]string{"--db=" + l.SB()}, ask.args...)...).Output()
		if err != nil {
			t.Fatalf("ovn-trace %q: %v", ask.args, err)
		}
		options, micro := ask.args[:len(ask.args)-1], ask.args[len(ask.args)-1]
		var stdout, stderr bytes.Buffer
		args := append([]string{"--nb", l.NB(), "--sb", l.SB(), "trace", "--microflow", micro}, options...)
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != ask.code {
			t.Errorf("%q: exit code %d, want %d\n%s", ask.args, code, ask.code, &stderr)
		}
		got := stdout.String()
		if ask.code == exitUsage {
			first, _, _ := strings.Cut(strings.TrimPrefix(stderr.String(), "ovnctl: "), "\n")
			got = first
			want = bytes.TrimSuffix(want, []byte("\n"))
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%q (-ovn-trace +ovnctl):\n%s", ask.args, diff)
		}
	}
	var stdout, stderr bytes.Buffer
	args := []string{"--nb", l.NB(), "--sb", l.SB(), "trace", "-o", "json", "--microflow", packet}
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("-o json: exit code %d\n%s", code, &stderr)
	}
	var doc microflowDocument
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Kind != "MicroflowTrace" || doc.Microflow != packet || doc.Trace == nil || len(doc.Trace.Nodes) == 0 || doc.Trace.Nodes[0].Hit == nil {
		t.Errorf("-o json says\n%s", &stdout)
	}
}

// TestMicroflowFlags holds that its flags go with --microflow, and those of the other form do not.
func TestMicroflowFlags(t *testing.T) {
	for _, args := range [][]string{
		{"trace", "a", "b", "--ct", "new"},
		{"trace", "a", "b", "--openflow"},
		{"trace", "--microflow", "ip4", "--tcp", "80"},
		{"trace", "--microflow", "ip4", "a", "b"},
		{"trace", "--microflow", "ip4", "--ct", "sleepy"},
		{"trace", "--microflow", "ip4", "--lb-dst", "here"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != exitUsage || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d; standard output %q, standard error %q", args, code, exitUsage, &stdout, &stderr)
		}
	}
}

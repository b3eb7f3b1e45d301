package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A report has the map, the findings, the paths and the matrix, and does not overwrite a file.
func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "case.html")
	ovnctl := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	args := []string{"--offline", "demo", "report", file, "--trace", "shop/client bank/vault-2 tcp/8080", "--trace", "shop/client 203.0.113.10", "--reach", "tcp/8080"}
	if code, said := ovnctl(args...); code != exitOK || said != "" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"uplink eth0 is not in bridge br-ex", "ovnctl fix attach-uplink br-ex eth0", "not reached", "no port of the switch has the MAC address 0a:58:64:40:00:99",
		"24 delivered, 48 dropped", `"name":"ovn_cluster_router"`, "shop/client ─ node1 ═geneve═ node2 ─✗ bank/vault-2",
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if code, said := ovnctl(args...); code != exitUsage || !strings.Contains(said, "is there already") {
		t.Errorf("again: exit code %d: %s", code, said)
	}
	for _, wrong := range [][]string{{"--trace", "shop/client"}, {"--trace", "a b http"}, {"--reach", "tcp"}, {"--reach", "8080"}, {"-o", "json"}} {
		if code, said := ovnctl(append([]string{"--offline", "demo", "report", "-"}, wrong...)...); code != exitUsage {
			t.Errorf("%q: exit code %d: %.200s", wrong, code, said)
		}
	}
}

// Of each deployment a report is small.
func TestDeploymentsReported(t *testing.T) {
	for name, d := range deployments {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst", "report", "-"}, strings.NewReader(""), &out, &errs)
		if code != exitOK || errs.Len() > 0 || out.Len() > 2<<20 || !strings.Contains(out.String(), "</html>") {
			t.Errorf("%s: exit code %d, %d bytes: %s", name, code, out.Len(), errs.String())
		}
	}
}

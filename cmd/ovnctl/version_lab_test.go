//go:build lab

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// TestVersions compares versions with what the servers and daemons themselves say, here and on other nodes.
func TestVersions(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	n := &onNode{lab: l, node: "node1"}
	said := func(host string, args ...string) string {
		out, err := l.Run(t.Context(), host, args...)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(strings.SplitN(out, "\n", 2)[0])
		return words[len(words)-1]
	}
	got := n.ovnctl(t, "version", "--cluster", "-o", "json", "--node-exec", filepath.Join(l.Dir, "enter")+" {hostname}")
	var doc versionDocument
	if err := json.Unmarshal(got.stdout, &doc); err != nil || got.code != exitOK {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
	}
	if len(doc.Zones) != 1 || len(doc.Nodes) != len(l.Topology.Nodes) {
		t.Fatalf("%d zones and %d nodes, want 1 and %d", len(doc.Zones), len(doc.Nodes), len(l.Topology.Nodes))
	}
	central := l.Centrals()[0]
	for db, version := range map[string]string{"OVN_Northbound": doc.Zones[0].Northbound, "OVN_Southbound": doc.Zones[0].Southbound} {
		remote := map[string]string{"OVN_Northbound": l.NB(), "OVN_Southbound": l.SB()}[db]
		if want := said(central, "ovsdb-client", "get-schema-version", strings.Split(remote, ",")[0], db); version != want {
			t.Errorf("schema of %s: %q, want %q", db, version, want)
		}
	}
	for _, v := range doc.Nodes {
		if want := said(v.Node, "ovsdb-client", "get-schema-version", "unix:"+filepath.Join(l.Dir, v.Node, "run/openvswitch/db.sock"), "Open_vSwitch"); v.Schema != want {
			t.Errorf("%s: schema %q, want %q", v.Node, v.Schema, want)
		}
		for daemon, tool := range map[string]string{"ovs-vswitchd": "ovs-vswitchd", "ovn-controller": "ovn-controller"} {
			want := cluster.DaemonVersion{Name: daemon, State: node.Answers, Version: said(v.Node, tool, "--version")}
			if !slices.Contains(v.Daemons, want) {
				t.Errorf("%s: no %+v among %+v", v.Node, want, v.Daemons)
			}
		}
	}
}

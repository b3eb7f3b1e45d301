package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Each zone of ovn-kubernetes has databases of its own, which only their node's daemons read: a repair of a database never
// means that of another zone, not even if its own cannot be read.
func TestDeploymentZoneRepairs(t *testing.T) {
	d := deployments["ovn-kubernetes"]
	for _, lost := range []string{"", "nb.db", "sb.db"} {
		for _, node := range d.nodes {
			dir := unpackedDir(t, d.file)
			if lost != "" {
				if err := os.Remove(filepath.Join(dir, node, lost)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := cluster.Open(t.Context(), cluster.Config{Offline: dir})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range c.Hosts {
				h.Local = h.Name == node
			}
			look := snapshot.Look(t.Context(), c, snapshot.Options{})
			for _, call := range [][]string{
				{"listen-database", "nb"}, {"listen-database", "sb", "ptcp:6642"}, {"set-inactivity-probe", "nb"}, {"set-inactivity-probe", "sb"},
				{"kick-raft-member", "sb", "1234"}, {"compact-database", "sb"}, {"upgrade-database", "nb"}, {"upgrade-database", "sb"},
			} {
				r := catalog.Find(call[0])
				a, err := r.Arguments(call[1:])
				if err != nil {
					t.Fatal(err)
				}
				if plan, err := r.Plan(look, a); err == nil {
					t.Errorf("on %s without %q, fix %q: %s: %+v", node, lost, call, plan.Title, plan.Steps)
				} else if refusal := (*fixes.Refusal)(nil); call[0] == "listen-database" && lost == "" && !errors.As(err, &refusal) {
					t.Errorf("on %s, fix %q: %v", node, call, err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

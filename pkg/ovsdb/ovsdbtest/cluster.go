package ovsdbtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Cluster is a RAFT cluster of servers on loopback.
type Cluster struct {
	Members []*Server
	t       testing.TB
}

// StartCluster makes a cluster of n members and waits until all have joined.
// The election timer is the default, one second.
func StartCluster(t testing.TB, schema string, n int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	db := schemaName(t, schema)
	first := ""
	for range n {
		dir := Dir(t)
		file := filepath.Join(dir, "db")
		local := "tcp:" + Address(t, "127.0.0.1")
		if first == "" {
			first = local
			Run(t, "ovsdb-tool", "create-cluster", file, schema, local)
		} else {
			Run(t, "ovsdb-tool", "join-cluster", file, db, local, first)
		}
		s := Serve(t, dir, file, db)
		c.Members = append(c.Members, s)
		c.until("a member to join", func() bool {
			return strings.Contains(s.Appctl("cluster/status", db), "Status: cluster member")
		})
	}
	return c
}

// Remotes returns the comma list of the members' unix sockets.
func (c *Cluster) Remotes() string {
	remotes := make([]string, len(c.Members))
	for i, m := range c.Members {
		remotes[i] = m.Remote()
	}
	return strings.Join(remotes, ",")
}

// Leader waits until one of the running members leads and returns it.
func (c *Cluster) Leader() *Server {
	c.t.Helper()
	var leader *Server
	c.until("a leader", func() bool {
		for _, m := range c.Members {
			if m.Running() && strings.Contains(m.Appctl("cluster/status", m.DB), "Role: leader") {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// Followers returns the running members but the leader.
func (c *Cluster) Followers() []*Server {
	c.t.Helper()
	leader := c.Leader()
	var followers []*Server
	for _, m := range c.Members {
		if m != leader && m.Running() {
			followers = append(followers, m)
		}
	}
	return followers
}

// Isolate cuts the member off from the others, which continue without it; clients still reach it. It waits
// until the member has noticed.
func (c *Cluster) Isolate(m *Server) {
	c.t.Helper()
	m.Appctl("cluster/failure-test", "stop-raft-rpc")
	c.until("the member to notice that it is alone", func() bool {
		return strings.Contains(Run(c.t, "ovsdb-client", "transact", m.Remote(),
			`["_Server",{"op":"select","table":"Database","columns":["connected"],"where":[["name","==","`+m.DB+`"]]}]`), "false")
	})
}

// Join undoes Isolate.
func (c *Cluster) Join(m *Server) {
	c.t.Helper()
	m.Appctl("cluster/failure-test", "clear")
}

func (c *Cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("%s did not happen in time", what)
}

// Package scale gives tests OVN deployments of any size: real database servers and a real ovn-northd, with rows as a
// CMS writes them. There are no nodes: the package writes what ovn-controller would write into the Southbound.
package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Deployment runs until its test ends.
type Deployment struct {
	Size
	NB, SB *ovsdbtest.Server
}

// patience is how long one step of a deployment may take.
const patience = 10 * time.Minute

var timeout = fmt.Sprintf("--timeout=%.0f", patience.Seconds())

// built caches the database files of deployments built by this program, Northbound and Southbound by Size: rebuilding
// takes ovn-northd just as long.
var built sync.Map

// Start builds a deployment, waits until ovn-northd has written all logical flows, and stops it. Further ones of the
// same size are copies.
func Start(tb testing.TB, s Size) *Deployment {
	tb.Helper()
	if files, ok := built.Load(s); ok {
		files := files.([2][]byte)
		return &Deployment{Size: s, NB: serve(tb, "OVN_Northbound", files[0]), SB: serve(tb, "OVN_Southbound", files[1])}
	}
	d := build(tb, s)
	if s != Large { // too large to cache, and used once
		built.Store(s, [2][]byte{contents(tb, d.NB), contents(tb, d.SB)})
	}
	return d
}

// serve starts a server on a copy.
func serve(tb testing.TB, db string, contents []byte) *ovsdbtest.Server {
	tb.Helper()
	dir := ovsdbtest.Dir(tb)
	file := filepath.Join(dir, "db")
	if err := os.WriteFile(file, contents, 0o600); err != nil {
		tb.Fatal(err)
	}
	return ovsdbtest.Serve(tb, dir, file, db)
}

func contents(tb testing.TB, s *ovsdbtest.Server) []byte {
	tb.Helper()
	b, err := os.ReadFile(s.File)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func build(tb testing.TB, s Size) *Deployment {
	tb.Helper()
	start := time.Now()
	d := &Deployment{Size: s, NB: ovsdbtest.Start(tb, ovsdbtest.Northbound), SB: ovsdbtest.Start(tb, ovsdbtest.Southbound)}
	nb, sb := d.dial(tb, d.NB), d.dial(tb, d.SB)
	// Before ovn-northd, which writes features common to all chassis.
	write(tb, sb, s.chassis())
	write(tb, nb, s.Northbound())
	stop := ovsdbtest.Northd(tb, d.NB, d.SB)
	sync := func() { ovsdbtest.Run(tb, "ovn-nbctl", "--db="+d.NB.Remote(), timeout, "--wait=sb", "sync") }
	sync()
	write(tb, sb, s.bindings(tb, sb))
	sync() // for what follows from the bindings
	stop()
	// Compacted, a server behaves like one that has run for long.
	for _, server := range []*ovsdbtest.Server{d.NB, d.SB} {
		ovsdbtest.Run(tb, "ovs-appctl", timeout, "-t", server.Control, "ovsdb-server/compact")
	}
	tb.Logf("%+v: built in %.1f s", s, time.Since(start).Seconds())
	return d
}

func (d *Deployment) dial(tb testing.TB, s *ovsdbtest.Server) *ovsdb.Client {
	tb.Helper()
	c, err := ovsdb.Dial(tb.Context(), ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: patience})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func write(tb testing.TB, c *ovsdb.Client, ops []ovsdb.Operation) {
	tb.Helper()
	if _, err := c.Transact(tb.Context(), ops...); err != nil {
		tb.Fatal(err)
	}
}

// chassis returns the rows with which ovn-controllers register.
func (s Size) chassis() []ovsdb.Operation {
	var ops []ovsdb.Operation
	for n := range s.Nodes {
		name, encap := nodeName(n), ovsdb.Named(fmt.Sprintf("encap%d", n))
		ops = append(ops,
			ovsdb.Insert("Encap", encap, map[string]any{"chassis_name": name, "type": "geneve", "ip": tunnelIP(n), "options": map[string]string{"csum": "true"}}),
			ovsdb.Insert("Chassis", "", map[string]any{
				"name": name, "hostname": name, "encaps": []ovsdb.UUID{encap},
				"other_config": map[string]string{
					"ct-no-masked-label": "true", "mac-binding-timestamp": "true", "ovn-ct-lb-related": "true", "port-up-notif": "true",
					"ovn-bridge-mappings": "physnet:br-ex", "datapath-type": "system",
				},
			}),
			ovsdb.Insert("Chassis_Private", "", map[string]any{"name": name, "nb_cfg": 1}))
	}
	return ops
}

// bindings returns how ovn-controllers claim their ports.
func (s Size) bindings(tb testing.TB, c *ovsdb.Client) []ovsdb.Operation {
	tb.Helper()
	var tables struct {
		Chassis []sb.Chassis
		Ports   []sb.PortBinding
	}
	if err := ovsdb.Load(tb.Context(), c, &tables); err != nil {
		tb.Fatal(err)
	}
	chassis := map[string]ovsdb.UUID{}
	for _, ch := range tables.Chassis {
		chassis[ch.Name] = ch.UUID
	}
	var ops []ovsdb.Operation
	for _, p := range tables.Ports {
		row := map[string]any{"up": true}
		switch {
		case p.Type == "":
			row["chassis"] = p.RequestedChassis
		case p.Type == "l3gateway":
			row["chassis"] = []ovsdb.UUID{chassis[p.Options["l3gateway-chassis"]]}
		case p.Type == "chassisredirect":
			row["chassis"] = []ovsdb.UUID{chassis[p.LogicalPort[len("cr-rtos-"):]]}
		default:
			continue
		}
		ops = append(ops, ovsdb.Update("Port_Binding", row, ovsdb.Where("_uuid", "==", p.UUID)))
	}
	return ops
}

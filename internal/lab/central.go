package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Centrals returns the hosts with databases: central, and in a cluster central2 and so on, or each node if it is a zone.
func (s *State) Centrals() []string {
	if !s.Topology.OVN {
		return nil
	}
	if s.Topology.Zones {
		var names []string
		for _, n := range s.Topology.Nodes {
			names = append(names, n.Name)
		}
		return names
	}
	names := []string{central}
	for i := 2; i <= s.Cluster; i++ {
		names = append(names, fmt.Sprintf("%s%d", central, i))
	}
	return names
}

// centralHosts returns the hosts that have databases and are no nodes.
func (s *State) centralHosts() []string {
	if s.Topology.Zones {
		return nil
	}
	return s.Centrals()
}

// centralAddr returns the underlay address of central host i, from 0.
func (s *State) centralAddr(i int) netip.Addr {
	first := cmp.Or(s.Topology.Underlay.Central, netip.AddrFrom4([4]byte{172, 30, 0, 2}))
	for range i {
		first = first.Next()
	}
	return first
}

// socket returns the remote of a host's server for "nb" or "sb".
func (s *State) socket(host, db string) string {
	return fmt.Sprintf("unix:%s/%s/run/ovn/ovn%s_db.sock", s.Dir, host, db)
}

func (s *State) sockets(db string) string {
	var all []string
	for _, c := range s.Centrals() {
		all = append(all, s.socket(c, db))
	}
	return strings.Join(all, ",")
}

// NB returns the remote of the Northbound database, of each member of a cluster, reachable from any namespace.
func (s *State) NB() string { return s.sockets("nb") }

// SB returns the remote of the Southbound database, as [State.NB].
func (s *State) SB() string { return s.sockets("sb") }

// remotes returns the nodes' remotes of the databases, over the underlay: port 6641 is the Northbound, 6642 the
// Southbound.
func (s *State) remotes(port int) string {
	var all []string
	for i := range s.Centrals() {
		all = append(all, fmt.Sprintf("%s:%s:%d", s.protocol(), s.centralAddr(i), port))
	}
	return strings.Join(all, ",")
}

func (s *State) protocol() string {
	if s.TLS {
		return "ssl"
	}
	return "tcp"
}

// southbound returns a node's remote of its Southbound.
func (s *State) southbound(node string) string {
	if s.Topology.Zones {
		return s.socket(node, "sb")
	}
	return s.remotes(6642)
}

// northbound returns a node's remote of its Northbound.
func (s *State) northbound(node string) string {
	if s.Topology.Zones {
		return s.socket(node, "nb")
	}
	return s.remotes(6641)
}

// northbounds returns a host of each Northbound.
func (s *State) northbounds() []string {
	hosts := s.Centrals()
	if s.Topology.Zones {
		return hosts
	}
	return hosts[:min(1, len(hosts))]
}

// zone returns a central host's directory in a saved deployment.
func (s *State) zone(host string) string {
	if s.Topology.Zones {
		return host
	}
	return ""
}

// nbctl returns the start of an ovn-nbctl command for the leader, or for a node's zone.
func (s *State) nbctl(host string) []string {
	if s.Topology.Zones {
		return s.zoneTool(host, "nb")
	}
	return []string{"ovn-nbctl", "--timeout=120", "--db=" + s.NB()}
}

// startCentrals starts the databases and ovn-northd; members of a cluster join the first.
func (s *State) startCentrals(ctx context.Context) error {
	for i, host := range s.Centrals() {
		nb, sb := s.NB(), s.SB()
		if s.Topology.Zones {
			nb, sb = s.socket(host, "nb"), s.socket(host, "sb")
		}
		args := []string{ovnScripts + "ovn-ctl", "--no-monitor", "--ovn-northd-priority=", "--ovn-northd-nb-db=" + nb, "--ovn-northd-sb-db=" + sb}
		for _, db := range []string{"nb", "sb"} {
			args = append(args, s.serverFlags(db, i)...)
			if err := s.restore(ctx, host, filepath.Join(s.zone(host), db+".db"), "var/lib/ovn/ovn"+db+"_db.db"); err != nil {
				return err
			}
		}
		for _, service := range []string{"ovn-nb-db", "ovn-sb-db", "ovn-northd"} {
			args = append(args, s.tlsFlags(service, host)...)
		}
		if _, err := s.Run(ctx, host, append(args, "start_northd")...); err != nil {
			return err
		}
	}
	if !s.TLS {
		return nil
	}
	for db, port := range map[string]string{"nb": "6641", "sb": "6642"} {
		if _, err := s.Run(ctx, central, "ovn-"+db+"ctl", "--timeout=120", "--db="+s.sockets(db), "set-connection", "pssl:"+port); err != nil {
			return err
		}
	}
	return nil
}

// serverFlags returns ovn-ctl's options for one database server on central host i.
func (s *State) serverFlags(db string, i int) []string {
	flag := func(name, value string) string { return "--db-" + db + "-" + name + "=" + value }
	var flags []string
	if !s.TLS && !s.Topology.Zones {
		flags = append(flags, flag("create-insecure-remote", "yes"))
	}
	if s.Cluster > 1 {
		flags = append(flags, flag("cluster-local-addr", s.centralAddr(i).String()), flag("cluster-local-proto", s.protocol()))
		if i > 0 {
			flags = append(flags, flag("cluster-remote-addr", s.centralAddr(0).String()), flag("cluster-remote-proto", s.protocol()))
		}
	}
	return flags
}

// Keys returns the files with which a TLS client identifies itself: as a node or central host, or as "client".
func (s *State) Keys(name string) (privateKey, certificate, caCert string) {
	pki := filepath.Join(s.Dir, "pki")
	return filepath.Join(pki, name+"-privkey.pem"), filepath.Join(pki, name+"-cert.pem"), filepath.Join(pki, "ca/switchca/cacert.pem")
}

// tlsFlags returns ovn-ctl's options for the keys of one of its services.
func (s *State) tlsFlags(service, host string) []string {
	if !s.TLS {
		return nil
	}
	key, cert, ca := s.Keys(host)
	return []string{"--" + service + "-ssl-key=" + key, "--" + service + "-ssl-cert=" + cert, "--" + service + "-ssl-ca-cert=" + ca}
}

// makeKeys makes a CA, and a key and certificate for every host and for a client, with ovs-pki(8).
func (s *State) makeKeys(ctx context.Context) error {
	if !s.TLS {
		return nil
	}
	dir := filepath.Join(s.Dir, "pki")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	pki := func(args ...string) error {
		args = append([]string{"--dir=" + dir + "/ca", "--log=" + dir + "/log", "--batch"}, args...)
		cmd := exec.CommandContext(ctx, "ovs-pki", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ovs-pki %s: %w: %s", args[3], err, tail(string(out)))
		}
		return nil
	}
	if err := pki("init"); err != nil {
		return err
	}
	names := append(s.Centrals(), "client")
	for _, n := range s.Topology.Nodes {
		names = append(names, n.Name)
	}
	for _, name := range names { // one after another: the CA's index is a file
		if err := pki("--unique", "req+sign", name, "switch"); err != nil {
			return err
		}
	}
	return nil
}

// writeNorthbound writes the topology into the Northbound database, in one transaction.
func (s *State) writeNorthbound(ctx context.Context) error {
	if len(s.Topology.Northbound)+len(s.Topology.Newer) == 0 { // saved, or another writes it
		return nil
	}
	text, err := s.Run(ctx, central, "ovsdb-client", "--timeout=120", "get-schema", s.socket(central, "nb"), "OVN_Northbound")
	if err != nil {
		return err
	}
	var schema nbSchema
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return fmt.Errorf("schema of OVN_Northbound: %w", err)
	}
	_, err = s.Run(ctx, central, transact(s.nbctl(central), s.Topology.commands(schema))...)
	return err
}

// An nbSchema holds the tables and columns of a Northbound.
type nbSchema struct {
	Tables map[string]struct{ Columns map[string]json.RawMessage }
}

// has reports whether a table, or a column given as TABLE.COLUMN, exists.
func (s nbSchema) has(name string) bool {
	table, column, asked := strings.Cut(name, ".")
	t, ok := s.Tables[table]
	if ok && asked {
		_, ok = t.Columns[column]
	}
	return ok
}

// commands returns the topology's commands that the schema supports.
func (t Topology) commands(schema nbSchema) [][]string {
	commands := slices.Clone(t.Northbound)
	if t.ACLTier > 0 && schema.has("ACL.tier") {
		for i, c := range commands {
			if len(c) > 2 && c[1] == "create" && c[2] == "ACL" {
				commands[i] = append(slices.Clone(c), fmt.Sprintf("tier=%d", t.ACLTier))
			}
		}
	}
	for _, need := range sortedKeys(t.Newer) {
		if schema.has(need) {
			commands = append(commands, t.Newer[need]...)
		}
	}
	return commands
}

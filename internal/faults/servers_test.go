//go:build lab

package faults

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// databaseOf is the database that a part is: nb or sb.
func databaseOf(part string) string {
	return map[string]string{"nb": "OVN_Northbound", "sb": "OVN_Southbound"}[part]
}

// raftPort is the port on which the members of a part's cluster talk.
func raftPort(part string) string { return map[string]string{"nb": "6643", "sb": "6644"}[part] }

// address is where a host's member of a cluster is reached by the others.
func (s *scene) address(host, part string) string {
	number := slices.Index(s.Centrals(), host)
	if number < 0 {
		s.Fatalf("no databases on %s", host)
	}
	return "ssl:172.30.0." + strconv.Itoa(2+number) + ":" + raftPort(part)
}

// serverControl sends a control command to a database's server.
func (s *scene) serverControl(host, part, command string) string {
	s.Helper()
	return s.sh(host, "ovn-appctl -T 5 -t $OVN_RUNDIR/ovn%s_db.ctl %s", part, command)
}

// pid is what a daemon's pidfile says.
func (s *scene) pid(host, daemon string) int {
	s.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir, host, "run/ovn", daemon+".pid"))
	if err != nil {
		s.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		s.Fatal(err)
	}
	return pid
}

func (s *scene) kill(pid int, sig syscall.Signal) {
	s.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.Fatal(err)
	}
}

// signal sends a signal to a database's server.
func (s *scene) signal(host, part string, sig syscall.Signal) {
	s.Helper()
	s.kill(s.pid(host, "ovn"+part+"_db"), sig)
}

// stopServer ends a database's server and keeps its command line for startServer.
func (s *scene) stopServer(host, part string, sig syscall.Signal) {
	s.Helper()
	pid := s.pid(host, "ovn"+part+"_db")
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil {
		err = os.WriteFile(s.argsFile(host, part), args, 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.kill(pid, sig)
	s.until("the server is gone", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task") // while others end, its files are still locked
		return err != nil || strings.Contains(string(b), ") Z ") && len(threads) <= 1
	})
}

func (s *scene) argsFile(host, part string) string {
	return filepath.Join(s.Dir, host, part+".args")
}

// startServer starts a database's server as it ran before.
func (s *scene) startServer(host, part string) {
	s.Helper()
	b, err := os.ReadFile(s.argsFile(host, part))
	if err != nil {
		s.Fatal(err)
	}
	args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	if _, err := s.Lab.Run(s.ctx, host, args...); err != nil {
		s.Fatal(err)
	}
}

// dbFile is the file of a database on a host.
func (s *scene) dbFile(host, part string) string {
	return filepath.Join(s.Dir, host, "var/lib/ovn/ovn"+part+"_db.db")
}

// member is what a host's server says of its cluster.
func (s *scene) member(host, part string) *snapshot.Member {
	s.Helper()
	m, err := snapshot.ParseMember(s.serverControl(host, part, "cluster/status "+databaseOf(part)))
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// leader is the host whose server leads; empty while there is none.
func (s *scene) leader(part string) string {
	s.Helper()
	for _, host := range s.Centrals() {
		if s.member(host, part).Leads() {
			return host
		}
	}
	return ""
}

// overthrow stops a cluster's leader until the others have another one.
func (s *scene) overthrow(part string) {
	s.Helper()
	old := ""
	s.until("there is a leader", func() bool { old = s.leader(part); return old != "" })
	s.signal(old, part, syscall.SIGSTOP)
	s.until("there is another leader", func() bool {
		for _, host := range s.Centrals() {
			if host != old && s.member(host, part).Leads() {
				return true
			}
		}
		return false
	})
	s.signal(old, part, syscall.SIGCONT)
	s.until("the old one follows", func() bool { return !s.member(old, part).Leads() && !s.member(old, part).Lost() })
}

// lead makes a host's server the leader.
func (s *scene) lead(host, part string) {
	s.Helper()
	s.until(host+" leads", func() bool {
		if at := s.leader(part); at == host {
			return true
		}
		s.overthrow(part)
		return false
	})
}

// join makes a server that is to join its cluster at an address, and starts it.
func (s *scene) join(host, part, at string) {
	s.Helper()
	if err := os.Remove(s.dbFile(host, part)); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	s.sh(host, "ovsdb-tool join-cluster $OVN_DBDIR/ovn%s_db.db %s %s %s", part, databaseOf(part), s.address(host, part), at)
	s.startServer(host, part)
}

// rejoin makes a host's server a new member, and waits until it is one.
func (s *scene) rejoin(host, part, via string) {
	s.Helper()
	s.join(host, part, s.address(via, part))
	s.until(host+" is a member", func() bool {
		m := s.member(host, part)
		return m.Status == "cluster member" && !m.Lost()
	})
}

// peerAt is the ID of the member at an address, as another one lists it.
func (s *scene) peerAt(host, part, address string) string {
	s.Helper()
	for _, p := range s.member(host, part).Peers {
		if strings.Contains(p.Address, address) {
			return p.ID
		}
	}
	s.Fatalf("no member at %s", address)
	return ""
}

// kick takes a member out, at the leader.
func (s *scene) kick(part, id string) {
	s.Helper()
	s.serverControl(s.leader(part), part, "cluster/kick "+databaseOf(part)+" "+id)
}

// rebuild restores a cluster from a copy of its database, as after a disaster.
func (s *scene) rebuild(part string) {
	s.Helper()
	s.sh("central", "ovsdb-client --timeout=10 backup unix:$OVN_RUNDIR/ovn%[1]s_db.sock %[2]s > $OVN_DBDIR/%[1]s.backup", part, databaseOf(part))
	for _, host := range s.Centrals() {
		s.stopServer(host, part, syscall.SIGTERM)
	}
	if err := os.Remove(s.dbFile("central", part)); err != nil {
		s.Fatal(err)
	}
	s.sh("central", "ovsdb-tool create-cluster $OVN_DBDIR/ovn%[1]s_db.db $OVN_DBDIR/%[1]s.backup %[2]s; rm $OVN_DBDIR/%[1]s.backup", part, s.address("central", part))
	s.startServer("central", part)
	for _, host := range s.Centrals()[1:] {
		s.rejoin(host, part, "central")
	}
}

// status is what a node's ovn-controller says of its connection.
func (s *scene) status(node string) string {
	out, _ := s.Lab.Run(s.ctx, node, "ovn-appctl", "-T", "5", "-t", "ovn-controller", "connection-status")
	return strings.TrimSpace(out)
}

// connected waits until nodes are connected to the Southbound, and caught up.
func (s *scene) connected(nodes ...string) {
	s.Helper()
	for _, n := range nodes {
		s.until(n+" is connected", func() bool { return s.status(n) == "connected" })
	}
	s.sh("central", "ovn-nbctl --timeout=60 --db=%s --wait=hv sync", s.NB())
}

func (s *scene) disconnected(nodes ...string) {
	s.Helper()
	for _, n := range nodes {
		s.until(n+" is not connected", func() bool { return s.status(n) == "not connected" })
	}
}

// restartController starts a node's ovn-controller again as it ran, keeping its chassis.
func (s *scene) restartController(node string) {
	s.Helper()
	pid := s.pid(node, "ovn-controller")
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		s.Fatal(err)
	}
	s.sh(node, "ovn-appctl -T 5 -t ovn-controller exit --restart")
	s.until("ovn-controller is gone", func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(pid))
		return err != nil
	})
	if _, err := s.Lab.Run(s.ctx, node, strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")...); err != nil {
		s.Fatal(err)
	}
}

// reconnect makes the servers of the Southbound end all their connections.
func (s *scene) reconnect() {
	s.Helper()
	for _, host := range s.Centrals() {
		s.serverControl(host, "sb", "ovsdb-server/reconnect")
	}
}

// write puts a file below a host's root.
func (s *scene) write(host, path, text string) {
	s.Helper()
	path = filepath.Join(s.Dir, host, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// smallDisk moves the databases of central to a file system of their own.
func (s *scene) smallDisk() {
	s.Helper()
	s.moveDatabases(func(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=10m,mode=755") })
	s.Cleanup(func() { _ = syscall.Unmount(filepath.Join(s.Dir, "central/var/lib/ovn"), syscall.MNT_DETACH) })
}

// largeDisk moves them back.
func (s *scene) largeDisk() {
	s.Helper()
	s.moveDatabases(func(dir string) error { return syscall.Unmount(dir, 0) })
	s.connected("node1", "node2", "node3")
}

// moveDatabases changes the file system below the databases of central.
func (s *scene) moveDatabases(change func(dir string) error) {
	s.Helper()
	dir := filepath.Join(s.Dir, "central/var/lib/ovn")
	files := map[string][]byte{}
	for _, part := range []string{"nb", "sb"} {
		s.stopServer("central", part, syscall.SIGTERM)
		b, err := os.ReadFile(s.dbFile("central", part))
		if err != nil {
			s.Fatal(err)
		}
		files[s.dbFile("central", part)] = b
	}
	if err := change(dir); err != nil {
		s.Fatal(err)
	}
	for path, b := range files {
		if err := os.WriteFile(path, b, 0o640); err != nil {
			s.Fatal(err)
		}
	}
	for _, part := range []string{"nb", "sb"} {
		s.startServer("central", part)
	}
	s.connected("node1", "node2", "node3")
}

// replaceKeys puts another file in the place of one of a host's, which is kept.
func (s *scene) replaceKeys(path string, b []byte) {
	s.Helper()
	if _, err := os.Stat(path + ".kept"); err != nil {
		if err := os.Rename(path, path+".kept"); err != nil {
			s.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		s.Fatal(err)
	}
}

// restoreKeys puts a host's own key and certificate back.
func (s *scene) restoreKeys(host string) {
	s.Helper()
	key, certificate, _ := s.Keys(host)
	for _, path := range []string{key, certificate} {
		if err := os.Rename(path+".kept", path); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.Fatal(err)
		}
		now := time.Now() // daemons look at the time of the file
		if err := os.Chtimes(path, now, now); err != nil {
			s.Fatal(err)
		}
	}
}

// copyKey gives a host the private key of another one.
func (s *scene) copyKey(from, to string) {
	s.Helper()
	theirs, _, _ := s.Keys(from)
	own, _, _ := s.Keys(to)
	b, err := os.ReadFile(theirs)
	if err != nil {
		s.Fatal(err)
	}
	s.replaceKeys(own, b)
}

// certify gives a host another certificate for its key: one that has expired, or one
// that another CA has signed.
func (s *scene) certify(host, how string) {
	s.Helper()
	_, path, _ := s.Keys(host)
	ca := filepath.Join(s.Dir, "pki/ca/switchca")
	if how == "foreign" {
		ca = filepath.Join(s.Dir, "pki/ca/controllerca")
	}
	old, err := x509.ParseCertificate(s.pem(path, "CERTIFICATE"))
	if err != nil {
		s.Fatal(err)
	}
	authority, err := x509.ParseCertificate(s.pem(filepath.Join(ca, "cacert.pem"), "CERTIFICATE"))
	if err != nil {
		s.Fatal(err)
	}
	signer, err := x509.ParsePKCS8PrivateKey(s.pem(filepath.Join(ca, "private/cakey.pem"), "PRIVATE KEY"))
	if err != nil {
		s.Fatal(err)
	}
	made := *old
	if how == "expired" {
		made.NotBefore, made.NotAfter = time.Now().AddDate(-1, 0, 0), time.Now().AddDate(0, 0, -1)
	}
	der, err := x509.CreateCertificate(rand.Reader, &made, authority, old.PublicKey, signer)
	if err != nil {
		s.Fatal(err)
	}
	s.replaceKeys(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// pem is the first block of a kind in a file.
func (s *scene) pem(path, kind string) []byte {
	s.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	for len(b) > 0 {
		block, rest := pem.Decode(b)
		if block == nil {
			break
		}
		if block.Type == kind {
			return block.Bytes
		}
		b = rest
	}
	s.Fatalf("%s holds no %s", path, kind)
	return nil
}

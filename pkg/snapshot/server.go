package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// A Server is an ovsdb-server of an OVN database, on the host that it runs on or should run on.
type Server struct {
	Database string // OVN_Northbound or OVN_Southbound
	Control  string // the daemon's name for Host.Control: ovnnb_db, ovnsb_db
	Log      string // for Host.Log: ovsdb-server-nb, ovsdb-server-sb
	File     string // the database file, as a path on the host; empty if not found
	Daemon
}

// servers are the servers of OVN's databases, with the names that ovn-ctl(8) uses.
var servers = []Server{
	{Database: "OVN_Northbound", Control: "ovnnb_db", Log: "ovsdb-server-nb"},
	{Database: "OVN_Southbound", Control: "ovnsb_db", Log: "ovsdb-server-sb"},
}

// Servers returns the servers that the host has: they reply, or their file exists. A host that only uses the
// databases has none.
func (h *Host) Servers() ([]Server, error) {
	return Distil(h, "", func() ([]Server, error) {
		var found []Server
		for _, s := range servers {
			d, err := h.Daemon(s.Control)
			if errors.Is(err, node.ErrUnavailable) {
				continue
			}
			if err != nil {
				return nil, err
			}
			s.Daemon, s.File = d, h.databaseFile(s, d.Liveness == Refused)
			if s.Liveness != Refused || s.File != "" {
				found = append(found, s)
			}
		}
		return found, nil
	})
}

// Server returns the host's server of a database, nil if none.
func (h *Host) Server(database string) (*Server, error) {
	all, err := h.Servers()
	return First(all, func(s *Server) bool { return s.Database == database }), err
}

// databaseFile returns the file that the server was started with, else the one where distributions keep it. For a
// stopped server on another host, where every question is a round trip, only the likeliest path is tried.
func (h *Host) databaseFile(s Server, idle bool) string {
	if idle && !h.Local {
		at, err := h.Glob(path.Join(cmp.Or(h.Dirs().OVNDB, "/var/lib/ovn"), "ovn[ns]b_db.db"))
		if err != nil {
			return ""
		}
		if i := slices.IndexFunc(at, func(file string) bool { return path.Base(file) == s.Control+".db" }); i >= 0 {
			return at[i]
		}
		return ""
	}
	if args := h.ServerArgs(s); len(args) > 0 {
		last := args[len(args)-1] // in a container the path may differ
		if at, err := h.Glob(last); err == nil && len(at) > 0 && strings.HasSuffix(last, ".db") {
			return last
		}
	}
	name := s.Control + ".db"
	for _, dir := range []string{h.Dirs().OVNDB, "/var/lib/ovn", "/etc/ovn", "/var/lib/ovn/etc", "/var/lib/ovn-ic/etc", "/var/lib/openvswitch/ovn", "/etc/openvswitch", "/var/snap/microovn/common/data/central/db"} {
		if dir == "" {
			continue
		}
		if at, err := h.Glob(path.Join(dir, name)); err == nil && len(at) > 0 {
			return at[0]
		}
	}
	return ""
}

// ServerProcess returns the process of a server, nil if unknown.
func (h *Host) ServerProcess(s Server) *node.Process {
	all, err := h.Processes()
	if err != nil {
		return nil
	}
	return First(all, func(p *node.Process) bool { return p.Name == "ovsdb-server" && daemonOf(*p) == s.Control })
}

// ServerArgs returns the command line of a running server, nil if unknown.
func (h *Host) ServerArgs(s Server) []string {
	if p := h.ServerProcess(s); p != nil {
		return p.Args
	}
	return nil
}

// A Member is a server of a clustered database, as in `cluster/status`.
type Member struct {
	Database  string
	ClusterID string
	ServerID  string
	Address   string // ssl:172.30.0.2:6644
	Status    string // "cluster member", "joining cluster", "disconnected from the cluster (election timeout)", …
	Role      string // "leader", "follower", "candidate"
	Term      int
	Leader    string // "self", the first digits of a server's ID, or "unknown"
	// ElectionTimer is how long followers wait for their leader.
	ElectionTimer time.Duration
	Entries       int      // of the log since the last snapshot
	Next          int      // index of the next entry of the log
	Remotes       []string // that a joining server asks for admission
	Peers         []Peer   // all members, including itself
	Text          string   // the unparsed output
}

// A Peer is a member of the cluster as seen by another one.
type Peer struct {
	ID      string // the first digits of its server ID
	Address string
	Self    bool
	Heard   bool          // a message was received from it
	Last    time.Duration // since that message
	// In and Out report established connections from and to it.
	In, Out bool
}

// Connected reports whether a connection to or from the peer is established.
func (p Peer) Connected() bool { return p.Self || p.In || p.Out }

// Leads reports whether the member is its cluster's leader.
func (m *Member) Leads() bool { return m.Role == "leader" }

// Joining reports whether the server waits for admission to its cluster.
func (m *Member) Joining() bool { return strings.HasPrefix(m.Status, "joining") }

// Lost reports whether a member of a cluster knows no leader.
func (m *Member) Lost() bool { return !m.Joining() && m.Leader == "unknown" }

// Self returns the member's own entry in its list; nil while it joins.
func (m *Member) Self() *Peer {
	return First(m.Peers, func(p *Peer) bool { return p.Self })
}

// ErrStandalone means that a database is served by a single server, without a cluster.
var ErrStandalone = errors.New("no clustered database")

// Member returns the cluster state of the host's server of a database. During an election members know no leader:
// such a reply is retried for as long as an election takes.
func (h *Host) Member(database string) (*Member, error) {
	return Distil(h, database, func() (*Member, error) {
		at := slices.IndexFunc(servers, func(s Server) bool { return s.Database == database })
		if at < 0 {
			return nil, fmt.Errorf("no server of %s found", database)
		}
		var m *Member
		for patience := 0; ; patience++ {
			text, err := h.node.Host.Control(h.d.ctx, servers[at].Control, "cluster/status", database)
			var refused *node.ControlError
			if errors.As(err, &refused) {
				return nil, ErrStandalone // a standalone server does not know the command
			}
			if err != nil {
				return nil, err
			}
			if m, err = ParseMember(text); err != nil {
				return nil, fmt.Errorf("%s: cluster/status of %s: %w", h.Name, database, err)
			}
			// Electing a leader takes the timer and up to a second; two elections may fail.
			wait := m.ElectionTimer/2 + 250*time.Millisecond
			if !m.Lost() || patience == 5 || time.Duration(patience)*wait > 10*time.Second {
				return m, nil
			}
			select {
			case <-h.d.ctx.Done():
				return m, nil
			case <-time.After(wait):
			}
		}
	})
}

var (
	statusPeer = pattern.New(`^\s+([0-9a-f]{4,}) \(.* at ([^)]+)\)(.*)$`)
	lastMsg    = pattern.New(`last msg (\d+) ms ago`)
	fullID     = pattern.New(`\(([0-9a-f-]{36})\)`)
)

// ParseMember parses the output of `cluster/status`.
func ParseMember(text string) (*Member, error) {
	m := &Member{Text: text}
	var connections string
	inServers := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if x := statusPeer.Get().FindStringSubmatch(line); inServers && x != nil {
			p := Peer{ID: x[1], Address: x[2], Self: strings.Contains(x[3], "(self)")}
			if ms := lastMsg.Get().FindStringSubmatch(x[3]); ms != nil {
				p.Heard, p.Last = true, milliseconds(ms[1])
			}
			m.Peers = append(m.Peers, p)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			m.Database = value
		case "Cluster ID":
			m.ClusterID = identity(value)
		case "Server ID":
			m.ServerID = identity(value)
		case "Address":
			m.Address = value
		case "Status":
			m.Status = value
		case "Role":
			m.Role = value
		case "Term":
			m.Term, _ = strconv.Atoi(value)
		case "Leader":
			m.Leader = value
		case "Election timer":
			m.ElectionTimer = milliseconds(value)
		case "Log":
			from, to, _ := strings.Cut(strings.Trim(value, "[]"), ", ")
			first, _ := strconv.Atoi(from)
			last, _ := strconv.Atoi(to)
			m.Entries, m.Next = last-first, last
		case "Connections":
			connections = value
		case "Remotes for joining":
			m.Remotes = strings.Fields(value)
		case "Servers":
			inServers = true
		}
	}
	if m.Database == "" || m.Status == "" {
		return nil, errors.New("not a reply to cluster/status")
	}
	for word := range strings.FieldsSeq(connections) {
		for i := range m.Peers {
			switch word {
			case "<-" + m.Peers[i].ID:
				m.Peers[i].In = true
			case "->" + m.Peers[i].ID:
				m.Peers[i].Out = true
			}
		}
	}
	m.tellSharedAddressesApart()
	slices.SortFunc(m.Peers, func(a, b Peer) int { return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID)) })
	return m, nil
}

// tellSharedAddressesApart assigns a connection to an address that several members have to the one that replies
// there: the others had it before.
func (m *Member) tellSharedAddressesApart() {
	for i := range m.Peers {
		p := &m.Peers[i]
		lives := slices.ContainsFunc(m.Peers, func(o Peer) bool { return o.ID != p.ID && o.Address == p.Address && (o.In || o.Self) })
		if lives && !p.In && !p.Self {
			p.Out = false
		}
	}
}

// identity returns the full ID of one printed short and in full: "d44f (d44fc55c-…)".
func identity(value string) string {
	if x := fullID.Get().FindStringSubmatch(value); x != nil {
		return x[1]
	}
	return value
}

func milliseconds(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Millisecond
}

// Dial returns nil if the address of a remote ("tcp:172.30.0.2:6642", "ssl:[fd00::2]:6644") accepts connections from
// the host ovnctl runs on, else why not. It sends nothing.
func (d *Deployment) Dial(remote string) error {
	_, err := read(&d.memo, question{"dial", remote}, func() (struct{}, error) {
		scheme, address, ok := strings.Cut(remote, ":")
		if !ok || scheme != "tcp" && scheme != "ssl" {
			return struct{}{}, fmt.Errorf("%s: not a remote that can be dialled", remote)
		}
		ctx, cancel := context.WithTimeout(d.ctx, 2*time.Second)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, conn.Close()
	})
	return err
}

// DatabaseFile reads a database file below the host's root, at most 16 MiB, and reports what could not be read.
func (h *Host) DatabaseFile(path string) (*ovsdb.Snapshot, error) {
	return read(&h.memo, question{"database", path}, func() (*ovsdb.Snapshot, error) {
		b, err := h.File(path)
		if err != nil {
			return nil, err
		}
		return ovsdb.ParseFile(path, strings.NewReader(string(b)))
	})
}

// SnapshotSize returns the maximum size of a server's file after compaction: that of its rows if they can be counted,
// else that of the file.
func (h *Host) SnapshotSize(s Server) int64 {
	size, err := h.FileSize(s.File)
	if err != nil {
		return 1 << 20
	}
	text, err := h.Control(s.Control, "memory/show")
	if err != nil {
		return size
	}
	for word := range strings.FieldsSeq(text) {
		if n, ok := strings.CutPrefix(word, "atoms:"); ok {
			atoms, err := strconv.ParseInt(n, 10, 64)
			if err == nil {
				return min(size, 64<<10+atoms*100)
			}
		}
	}
	return size
}

// FileSize returns the size of a file below the host's root. One of more than 16 MiB is measured where possible.
func (h *Host) FileSize(path string) (int64, error) {
	return Distil(h, path, func() (int64, error) {
		if s, ok := h.node.Host.(interface {
			FileSize(context.Context, string) (int64, error)
		}); ok {
			return s.FileSize(h.d.ctx, path)
		}
		b, err := h.File(path)
		return int64(len(b)), err
	})
}

// Bytes formats a size: "3.2 MiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// A Connection is an address on which a database's servers listen, of either database.
type Connection struct {
	UUID   ovsdb.UUID
	Target string         // ptcp:6642, pssl:6642:0.0.0.0
	Probe  ovsdb.Set[int] // milliseconds; empty: 5000
	Role   string
	Status map[string]string // only of a standalone server; a cluster has none
}

// Connections returns the rows of a database's Connection table.
func (z *Zone) Connections(database string) ([]Connection, error) {
	return ofEither(z, database, func(n *Northbound) (all []Connection) {
		for _, c := range n.Connections {
			all = append(all, Connection{c.UUID, c.Target, c.InactivityProbe, "", c.Status})
		}
		return all
	}, func(s *Southbound) (all []Connection) {
		for _, c := range s.Connections {
			all = append(all, Connection{c.UUID, c.Target, c.InactivityProbe, c.Role, c.Status})
		}
		return all
	})
}

// HasSSL reports whether a readable database has a row in its SSL table.
func (z *Zone) HasSSL(database string) bool {
	rows, err := z.ssl(database)
	return err == nil && len(rows) > 0
}

// ssl returns the files in a database's SSL table.
func (z *Zone) ssl(database string) ([]sslFiles, error) {
	return ofEither(z, database, func(n *Northbound) (all []sslFiles) {
		for _, s := range n.SSL {
			all = append(all, sslFiles{s.PrivateKey, s.Certificate, s.CACert})
		}
		return all
	}, func(south *Southbound) (all []sslFiles) {
		for _, s := range south.SSL {
			all = append(all, sslFiles{s.PrivateKey, s.Certificate, s.CACert})
		}
		return all
	})
}

// GlobalRow returns the UUID of a database's single global row.
func (z *Zone) GlobalRow(database string) (ovsdb.UUID, error) {
	id, err := ofEither(z, database, func(n *Northbound) (id ovsdb.UUID) {
		if len(n.Globals) == 1 {
			id = n.Globals[0].UUID
		}
		return id
	}, func(s *Southbound) (id ovsdb.UUID) {
		if len(s.Globals) == 1 {
			id = s.Globals[0].UUID
		}
		return id
	})
	if err == nil && id == "" {
		err = fmt.Errorf("%s has no global row, or more than one", database)
	}
	return id, err
}

// ofEither returns what both databases have, from the named one.
func ofEither[T any](z *Zone, database string, north func(*Northbound) T, south func(*Southbound) T) (none T, err error) {
	if database == "OVN_Northbound" {
		rows, err := z.Northbound()
		if err != nil {
			return none, err
		}
		return north(rows), nil
	}
	rows, err := z.Southbound()
	if err != nil {
		return none, err
	}
	return south(rows), nil
}

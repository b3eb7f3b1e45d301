package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Server is an ovsdb-server for one of the databases of OVN, on the host that
// it runs on or is meant to.
type Server struct {
	Database string // OVN_Northbound or OVN_Southbound
	Control  string // the daemon's name for Host.Control: ovnnb_db, ovnsb_db
	Log      string // for Host.Log: ovsdb-server-nb, ovsdb-server-sb
	File     string // the database's file, as a path of the host; empty: not found
	Daemon
}

// servers are the servers of OVN's databases, as ovn-ctl(8) names their parts.
var servers = []Server{
	{Database: "OVN_Northbound", Control: "ovnnb_db", Log: "ovsdb-server-nb"},
	{Database: "OVN_Southbound", Control: "ovnsb_db", Log: "ovsdb-server-sb"},
}

// Servers are those that the host has: they answer, or their file is there. A
// host that only uses the databases has none.
func (h *Host) Servers() ([]Server, error) {
	return Derive(h, "", func() ([]Server, error) {
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

// Server is the host's server of a database; nil: it has none.
func (h *Host) Server(database string) (*Server, error) {
	all, err := h.Servers()
	return First(all, func(s *Server) bool { return s.Database == database }), err
}

// databaseFile is what the server was started with, else what lies where
// distributions keep it. Of a server that does not run on another host, where every
// question is a round trip, only the likeliest place is looked at.
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
		last := args[len(args)-1] // in a container it may be another place than here
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

// ServerProcess is the process of a server; nil: not known.
func (h *Host) ServerProcess(s Server) *node.Process {
	all, err := h.Processes()
	if err != nil {
		return nil
	}
	return First(all, func(p *node.Process) bool { return p.Name == "ovsdb-server" && daemonOf(*p) == s.Control })
}

// ServerArgs is the command line of a server that runs; nil: not known.
func (h *Host) ServerArgs(s Server) []string {
	if p := h.ServerProcess(s); p != nil {
		return p.Args
	}
	return nil
}

// A Member is a server of a clustered database, as `cluster/status` says.
type Member struct {
	Database  string
	ClusterID string
	ServerID  string
	Address   string // ssl:172.30.0.2:6644
	Status    string // "cluster member", "joining cluster", "disconnected from the cluster (election timeout)", …
	Role      string // "leader", "follower", "candidate"
	Term      int
	Leader    string // "self", the first digits of a server's ID, or "unknown"
	// ElectionTimer is how long followers do without their leader.
	ElectionTimer time.Duration
	Entries       int      // of the log since the last snapshot
	Remotes       []string // that a joining server asks to be let in
	Peers         []Peer   // all members, itself among them
	Text          string   // as it was read
}

// A Peer is a member of the cluster as another one sees it.
type Peer struct {
	ID      string // the first digits of its server ID
	Address string
	Self    bool
	Heard   bool          // there was a message from it
	Last    time.Duration // since then
	// In and Out are connections from and to it that stand.
	In, Out bool
}

// Connected reports whether a connection to or from the peer stands.
func (p Peer) Connected() bool { return p.Self || p.In || p.Out }

// Leads reports whether the member is its cluster's leader.
func (m *Member) Leads() bool { return m.Role == "leader" }

// Joining reports whether the server waits to be let into its cluster.
func (m *Member) Joining() bool { return strings.HasPrefix(m.Status, "joining") }

// Lost reports whether the member knows no leader, though it belongs to a cluster.
func (m *Member) Lost() bool { return !m.Joining() && m.Leader == "unknown" }

// Self is the member's own entry in its list; nil while it joins.
func (m *Member) Self() *Peer {
	return First(m.Peers, func(p *Peer) bool { return p.Self })
}

// ErrStandalone is a database that a single server serves, without a cluster.
var ErrStandalone = errors.New("no clustered database")

// Member is what the host's server of a database says of its cluster. While a
// cluster elects, its members know no leader: such an answer is asked for again
// as long as an election takes.
func (h *Host) Member(database string) (*Member, error) {
	return Derive(h, database, func() (*Member, error) {
		at := slices.IndexFunc(servers, func(s Server) bool { return s.Database == database })
		if at < 0 {
			return nil, fmt.Errorf("no server of %s found", database)
		}
		var m *Member
		for patience := 0; ; patience++ {
			text, err := h.node.Host.Control(h.d.ctx, servers[at].Control, "cluster/status", database)
			var refused *node.ControlError
			if errors.As(err, &refused) {
				return nil, ErrStandalone // a server alone does not know the command
			}
			if err != nil {
				return nil, err
			}
			if m, err = ParseMember(text); err != nil {
				return nil, fmt.Errorf("%s: cluster/status of %s: %w", h.Name, database, err)
			}
			// The wait for a leader is the timer and up to a second; two elections may fail.
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
	statusPeer = regexp.MustCompile(`^\s+([0-9a-f]{4,}) \(.* at ([^)]+)\)(.*)$`)
	lastMsg    = regexp.MustCompile(`last msg (\d+) ms ago`)
	fullID     = regexp.MustCompile(`\(([0-9a-f-]{36})\)`)
)

// ParseMember reads what `cluster/status` prints.
func ParseMember(text string) (*Member, error) {
	m := &Member{Text: text}
	var connections string
	inServers := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if x := statusPeer.FindStringSubmatch(line); inServers && x != nil {
			p := Peer{ID: x[1], Address: x[2], Self: strings.Contains(x[3], "(self)")}
			if ms := lastMsg.FindStringSubmatch(x[3]); ms != nil {
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
			m.Entries = last - first
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

// tellSharedAddressesApart takes a connection to an address that several members have for
// that of the one that answers there: the others were there before it.
func (m *Member) tellSharedAddressesApart() {
	for i := range m.Peers {
		p := &m.Peers[i]
		lives := slices.ContainsFunc(m.Peers, func(o Peer) bool { return o.ID != p.ID && o.Address == p.Address && (o.In || o.Self) })
		if lives && !p.In && !p.Self {
			p.Out = false
		}
	}
}

// identity is the whole of an ID that is shown short and whole: "d44f (d44fc55c-…)".
func identity(value string) string {
	if x := fullID.FindStringSubmatch(value); x != nil {
		return x[1]
	}
	return value
}

func milliseconds(text string) time.Duration {
	n, _ := strconv.Atoi(text)
	return time.Duration(n) * time.Millisecond
}

// Dial reports whether somebody takes connections at the address of a remote
// ("tcp:172.30.0.2:6642", "ssl:[fd00::2]:6644"), seen from the host ovnctl runs on: nil, or why
// not. It sends nothing.
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

// DatabaseFile reads the file of a database below the host's root, of at most
// 16 MiB, and says what of it could not be read.
func (h *Host) DatabaseFile(path string) (*ovsdb.Snapshot, error) {
	return read(&h.memo, question{"database", path}, func() (*ovsdb.Snapshot, error) {
		b, err := h.File(path)
		if err != nil {
			return nil, err
		}
		return ovsdb.ParseFile(path, strings.NewReader(string(b)))
	})
}

// SnapshotSize is how large the file of a server may be once it is compacted, at
// most: that of its rows, where they can be counted, else that of the file.
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

// FileSize is the size of a file below the host's root. One of more than 16 MiB
// is measured where that is possible.
func (h *Host) FileSize(path string) (int64, error) {
	return Derive(h, path, func() (int64, error) {
		if s, ok := h.node.Host.(interface {
			FileSize(context.Context, string) (int64, error)
		}); ok {
			return s.FileSize(h.d.ctx, path)
		}
		b, err := h.File(path)
		return int64(len(b)), err
	})
}

// Bytes is a size in words: "3.2 MiB".
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

// A Connection is an address at which the servers of a database listen, of
// either database.
type Connection struct {
	UUID   ovsdb.UUID
	Target string         // ptcp:6642, pssl:6642:0.0.0.0
	Probe  ovsdb.Set[int] // milliseconds; empty: 5000
	Role   string
	Status map[string]string // of a server alone; a cluster does not keep it
}

// Connections are the rows of a database's Connection table.
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

// HasSSL reports whether a database that can be read has a row in its SSL table.
func (z *Zone) HasSSL(database string) bool {
	rows, err := z.ssl(database)
	return err == nil && len(rows) > 0
}

// ssl are the files of a database's SSL table.
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

// GlobalRow is the UUID of a database's one row about the deployment.
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

// ofEither is what both databases have, of the one that is named.
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

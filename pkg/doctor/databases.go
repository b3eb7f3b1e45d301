package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A server is a server of a database of OVN, and the host that it is on.
type Server struct {
	snapshot.Server
	Host *snapshot.Host
}

// servers are those of OVN's databases on the hosts that can be asked.
func (p *Pass) Servers() []Server {
	var wg sync.WaitGroup
	for _, h := range p.Hosts {
		wg.Go(func() { _, _ = h.Servers() })
	}
	wg.Wait()
	var all []Server
	for _, h := range p.Hosts {
		found, err := h.Servers()
		if err != nil {
			continue // its other checks say that the host cannot be asked
		}
		for _, s := range found {
			all = append(all, Server{s, h})
		}
	}
	return all
}

// object is the server: a database on a host.
func (s *Server) Object() Object {
	return Object{Kind: "database", Name: s.Database, Node: s.Host.Name}
}

// also are the database as a whole and the host.
func (s *Server) Concerns() []Object {
	return []Object{DatabaseObject(s.Database), {Kind: "node", Name: s.Host.Name}}
}

// control is the classic command that sends the server a control command.
func (s *Server) ControlCommand(command string) string {
	return fmt.Sprintf("ovn-appctl -t %s/%s.ctl %s", RunDir(s.Host), s.Control, command)
}

// runDir is the run directory of a host's OVN as it is written in commands.
func RunDir(h *snapshot.Host) string {
	if dir := h.Dirs().OVNRun; dir != "" {
		return dir
	}
	return "/var/run/ovn"
}

// database is a database as a whole, wherever it is served.
func DatabaseObject(name string) Object { return Object{Kind: "database", Name: name} }

// part is what ovn-ctl(8) and the units call a database: nb or sb.
func DatabasePart(database string) string {
	if database == "OVN_Northbound" {
		return "nb"
	}
	return "sb"
}

// members are the servers of clustered databases and what they say, without those
// that cannot say anything.
func (p *Pass) Members() []Member {
	all := p.Servers()
	var wg sync.WaitGroup
	for _, s := range all {
		if s.Liveness == snapshot.Answers {
			wg.Go(func() { _, _ = s.Host.Member(s.Database) })
		}
	}
	wg.Wait()
	var found []Member
	for _, s := range all {
		if s.Liveness != snapshot.Answers {
			continue
		}
		if m, err := s.Host.Member(s.Database); err == nil {
			found = append(found, Member{s, m})
		}
	}
	return found
}

// clustered are the members; without any it skips the check, and says why.
func (p *Pass) Clustered() []Member {
	found := p.Members()
	if len(found) > 0 {
		return found
	}
	why := "no database here is clustered"
	if len(p.Servers()) == 0 {
		why = ServersElsewhere
	}
	p.Skip(why)
	return nil
}

// elsewhere is why what only a server's own host can tell is not looked at.
const ServersElsewhere = "the servers of the databases are on other hosts: run doctor there"

// A member is a server of a clustered database with what it says of its cluster.
type Member struct {
	Server
	*snapshot.Member
}

// status is a line of what the member says of its cluster.
func (m *Member) Status(keys ...string) Evidence {
	var lines []string
	for line := range strings.Lines(m.Text) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(keys, key) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return Evidence{Source: Other("cluster/status " + m.Database + " on " + m.Host.Name), Says: strings.Join(lines, "; ")}
}

// peer is the line about one member.
func (m *Member) Peer(of snapshot.Peer) Evidence {
	for line := range strings.Lines(m.Text) {
		if strings.Contains(line, "("+of.ID+" at ") {
			return Evidence{Source: Other("cluster/status " + m.Database + " on " + m.Host.Name), Says: strings.TrimSpace(line)}
		}
	}
	return Evidence{Source: Other("cluster/status " + m.Database + " on " + m.Host.Name), Says: of.ID + " at " + of.Address}
}

// zoneReader is the reader of a database in a zone.
func ZoneReader(z *snapshot.Zone, database string) (ovsdb.Reader, error) {
	if database == "OVN_Northbound" {
		return z.NB()
	}
	return z.SB()
}

// recent are the lines of a log since a moment for which a condition holds.
func Recent(lines []snapshot.LogLine, since time.Time, holds func(snapshot.LogLine) bool) []snapshot.LogLine {
	var out []snapshot.LogLine
	for _, l := range lines {
		if !l.Time.Before(since) && holds(l) {
			out = append(out, l)
		}
	}
	return out
}

// remotes are the endpoints of a comma list.
func Endpoints(list string) []string {
	var out []string
	for r := range strings.SplitSeq(list, ",") {
		if r = strings.TrimSpace(r); r != "" {
			out = append(out, r)
		}
	}
	return out
}

// overNetwork says that an endpoint is a client's, of another host or this one, over the network.
func OverNetwork(remote string) bool {
	return strings.HasPrefix(remote, "tcp:") || strings.HasPrefix(remote, "ssl:")
}

// hostOf is the address of an endpoint without its port.
func EndpointHost(remote string) string {
	_, address, _ := strings.Cut(remote, ":")
	u := url.URL{Host: address}
	return u.Hostname()
}

// listenCall is the repair that lets a database's server listen on the network.
func ListenCall(database string) *fixes.Call { return catalog.ListenDatabase.With(database) }

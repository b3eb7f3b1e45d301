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
type server struct {
	snapshot.Server
	host *snapshot.Host
}

// servers are those of OVN's databases on the hosts that can be asked.
func (p *Pass) servers() []server {
	var wg sync.WaitGroup
	for _, h := range p.Hosts {
		wg.Go(func() { _, _ = h.Servers() })
	}
	wg.Wait()
	var all []server
	for _, h := range p.Hosts {
		found, err := h.Servers()
		if err != nil {
			continue // its other checks say that the host cannot be asked
		}
		for _, s := range found {
			all = append(all, server{s, h})
		}
	}
	return all
}

// object is the server: a database on a host.
func (s *server) object() Object {
	return Object{Kind: "database", Name: s.Database, Node: s.host.Name}
}

// also are the database as a whole and the host.
func (s *server) also() []Object {
	return []Object{database(s.Database), {Kind: "node", Name: s.host.Name}}
}

// control is the classic command that sends the server a control command.
func (s *server) control(command string) string {
	return fmt.Sprintf("ovn-appctl -t %s/%s.ctl %s", runDir(s.host), s.Control, command)
}

// runDir is the run directory of a host's OVN as it is written in commands.
func runDir(h *snapshot.Host) string {
	if dir := h.Dirs().OVNRun; dir != "" {
		return dir
	}
	return "/var/run/ovn"
}

// database is a database as a whole, wherever it is served.
func database(name string) Object { return Object{Kind: "database", Name: name} }

// part is what ovn-ctl(8) and the units call a database: nb or sb.
func part(database string) string {
	if database == "OVN_Northbound" {
		return "nb"
	}
	return "sb"
}

// members are the servers of clustered databases and what they say, without those
// that cannot say anything.
func (p *Pass) members() []member {
	all := p.servers()
	var wg sync.WaitGroup
	for _, s := range all {
		if s.Liveness == snapshot.Answers {
			wg.Go(func() { _, _ = s.host.Member(s.Database) })
		}
	}
	wg.Wait()
	var found []member
	for _, s := range all {
		if s.Liveness != snapshot.Answers {
			continue
		}
		if m, err := s.host.Member(s.Database); err == nil {
			found = append(found, member{s, m})
		}
	}
	return found
}

// clustered are the members; without any it skips the check, and says why.
func (p *Pass) clustered() []member {
	found := p.members()
	if len(found) > 0 {
		return found
	}
	why := "no database here is clustered"
	if len(p.servers()) == 0 {
		why = elsewhere
	}
	p.Skip(why)
	return nil
}

// elsewhere is why what only a server's own host can tell is not looked at.
const elsewhere = "the servers of the databases are on other hosts: run doctor there"

// A member is a server of a clustered database with what it says of its cluster.
type member struct {
	server
	*snapshot.Member
}

// status is a line of what the member says of its cluster.
func (m *member) status(keys ...string) Evidence {
	var lines []string
	for line := range strings.Lines(m.Text) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(keys, key) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return Evidence{Source: "cluster/status " + m.Database + " on " + m.host.Name, Says: strings.Join(lines, "; ")}
}

// peer is the line about one member.
func (m *member) peer(of snapshot.Peer) Evidence {
	for line := range strings.Lines(m.Text) {
		if strings.Contains(line, "("+of.ID+" at ") {
			return Evidence{Source: "cluster/status " + m.Database + " on " + m.host.Name, Says: strings.TrimSpace(line)}
		}
	}
	return Evidence{Source: "cluster/status " + m.Database + " on " + m.host.Name, Says: of.ID + " at " + of.Address}
}

// zoneReader is the reader of a database in a zone.
func zoneReader(z *snapshot.Zone, database string) (ovsdb.Reader, error) {
	if database == "OVN_Northbound" {
		return z.NB()
	}
	return z.SB()
}

// recent are the lines of a log since a moment for which a condition holds.
func recent(lines []snapshot.LogLine, since time.Time, holds func(snapshot.LogLine) bool) []snapshot.LogLine {
	var out []snapshot.LogLine
	for _, l := range lines {
		if !l.Time.Before(since) && holds(l) {
			out = append(out, l)
		}
	}
	return out
}

// remotes are the endpoints of a comma list.
func remotes(list string) []string {
	var out []string
	for r := range strings.SplitSeq(list, ",") {
		if r = strings.TrimSpace(r); r != "" {
			out = append(out, r)
		}
	}
	return out
}

// overNetwork says that an endpoint is a client's, of another host or this one, over the network.
func overNetwork(remote string) bool {
	return strings.HasPrefix(remote, "tcp:") || strings.HasPrefix(remote, "ssl:")
}

// hostOf is the address of an endpoint without its port.
func hostOf(remote string) string {
	_, address, _ := strings.Cut(remote, ":")
	u := url.URL{Host: address}
	return u.Hostname()
}

// listenCall is the repair that lets a database's server listen on the network.
func listenCall(database string) *fixes.Call { return catalog.ListenDatabase.With(database) }

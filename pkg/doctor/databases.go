package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Server serves a database of OVN on a host.
type Server struct {
	snapshot.Server
	Host *snapshot.Host
}

// Servers returns the servers of OVN's databases on readable hosts.
func (p *Pass) Servers() []Server {
	p.SideBySide(len(p.Hosts), func(i int) { _, _ = p.Hosts[i].Servers() })
	var all []Server
	for _, h := range p.Hosts {
		found, err := h.Servers()
		if err != nil {
			continue // other checks report an unreachable host
		}
		for _, s := range found {
			all = append(all, Server{s, h})
		}
	}
	return all
}

// Object is the server as an object: a database on a host.
func (s *Server) Object() Object {
	return Object{Kind: "database", Name: s.Database, Node: s.Host.Name}
}

// Also returns the database as a whole and the host.
func (s *Server) Also() []Object {
	return []Object{DatabaseObject(s.Database), NodeObject(s.Host.Name)}
}

// ControlCommand is the command that sends the server a control command.
func (s *Server) ControlCommand(command string) string {
	return fmt.Sprintf("ovn-appctl -t %s/%s.ctl %s", RunDir(s.Host), s.Control, command)
}

// Reply is the server's reply to a control command, as a source.
func (s *Server) Reply(command string) Source {
	return Source{ReplySource, command + " on " + s.Host.Name, s.ControlCommand(command)}
}

// RunDir returns OVN's run directory on a host, as written in commands.
func RunDir(h *snapshot.Host) string {
	if dir := h.Dirs().OVNRun; dir != "" {
		return dir
	}
	return "/var/run/ovn"
}

// DatabasePart returns what ovn-ctl(8) and the systemd units call a database: nb or sb.
func DatabasePart(database string) string {
	if database == "OVN_Northbound" {
		return "nb"
	}
	return "sb"
}

// Members returns the servers of clustered databases that reply, with their cluster/status.
func (p *Pass) Members() []Member {
	all := p.Servers()
	p.SideBySide(len(all), func(i int) {
		if s := all[i]; s.Liveness == snapshot.Answers {
			_, _ = s.Host.Member(s.Database)
		}
	})
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

// Clustered returns the members, leaders first. If there is none, the check is skipped.
func (p *Pass) Clustered() []Member {
	found := p.Members()
	if len(found) > 0 {
		leaders := slices.DeleteFunc(slices.Clone(found), func(m Member) bool { return !m.Leads() })
		return append(leaders, slices.DeleteFunc(found, func(m Member) bool { return m.Leads() })...)
	}
	why := "no database here is clustered"
	if len(p.Servers()) == 0 {
		why = ServersElsewhere
	}
	p.Skip(why)
	return nil
}

// ServersElsewhere is why a check of database servers is skipped if none is readable.
const ServersElsewhere = "the database servers are on other hosts: run ovnctl doctor there"

// A Member is a server of a clustered database with its cluster/status.
type Member struct {
	Server
	*snapshot.Member
}

// Status is evidence from lines of the member's cluster/status, by key.
func (m *Member) Status(keys ...string) Evidence {
	var lines []string
	for line := range strings.Lines(m.Text) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(keys, key) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return Evidence{Source: m.source(), Says: strings.Join(lines, "; ")}
}

// Peer returns the line of the member's cluster/status about another member.
func (m *Member) Peer(of snapshot.Peer) Evidence {
	says := of.ID + " at " + of.Address
	for line := range strings.Lines(m.Text) {
		if strings.Contains(line, "("+of.ID+" at ") {
			says = strings.TrimSpace(line)
		}
	}
	return Evidence{Source: m.source(), Says: says}
}

func (m *Member) source() Source {
	return m.Reply("cluster/status " + m.Database)
}

// DatabaseReader reads a database of a zone.
func DatabaseReader(z *snapshot.Zone, database string) (ovsdb.Reader, error) {
	if database == "OVN_Northbound" {
		return z.NB()
	}
	return z.SB()
}

// Recent returns the lines of a log since a time that satisfy a condition.
func Recent(lines []snapshot.LogLine, since time.Time, holds func(snapshot.LogLine) bool) []snapshot.LogLine {
	var out []snapshot.LogLine
	for _, l := range lines {
		if !l.Time.Before(since) && holds(l) {
			out = append(out, l)
		}
	}
	return out
}

// Endpoints splits a comma-separated list: "ssl:10.0.0.1:6642".
func Endpoints(list string) []string {
	var out []string
	for r := range strings.SplitSeq(list, ",") {
		if r = strings.TrimSpace(r); r != "" {
			out = append(out, r)
		}
	}
	return out
}

// EndpointHost returns the address of an endpoint without its port.
func EndpointHost(remote string) string {
	_, address, _ := strings.Cut(remote, ":")
	u := url.URL{Host: address}
	return u.Hostname()
}

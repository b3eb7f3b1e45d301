package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// Evidence is one thing that was read, and what it shows.
type Evidence struct {
	Source Source `json:"source"`
	Says   string `json:"says"`
}

// A SourceKind is the kind of source that evidence was read from.
type SourceKind string

// The kinds of sources.
const (
	RowSource     SourceKind = "row"     // of a database
	FileSource    SourceKind = "file"    // or a directory
	LogSource     SourceKind = "log"     // of a daemon
	CounterSource SourceKind = "counter" // of the kernel or of a daemon
	LinkSource    SourceKind = "link"    // of the kernel, with its addresses and routes
	FlowSource    SourceKind = "flow"    // OpenFlow flows of a bridge
	SocketSource  SourceKind = "socket"  // a control socket, or an endpoint that was dialled
	ReplySource   SourceKind = "reply"   // of a daemon or a command
	RuleSource    SourceKind = "rule"    // of the packet filter
	OtherSource   SourceKind = "other"
)

// A Source is where evidence was read. In JSON it is its text.
type Source struct {
	Kind SourceKind
	text string
	// Command is the classic command that shows the same; empty if none.
	Command string
}

// String returns the source in words: "Southbound MAC_Binding 3f2a91bc", "file /etc/default/ovn-host line 4".
func (s Source) String() string { return s.text }

// MarshalText writes the source as String does.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.text), nil }

// UnmarshalText reads what MarshalText wrote: the text alone.
func (s *Source) UnmarshalText(text []byte) error {
	*s = Other(string(text))
	return nil
}

// On returns the source with its node.
func (s Source) On(node string) Source {
	s.text += " on " + node
	return s
}

// Says returns evidence from the source.
func (s Source) Says(text string) Evidence { return Evidence{Source: s, Says: text} }

// InPod returns the source as seen in a pod's network namespace.
func (s Source) InPod() Source {
	s.text += " in the pod"
	s.Command = ""
	return s
}

// NB is a Northbound row, by the start of its UUID or by name; without either the whole table.
func NB(table, row string) Source { return ovnRow("Northbound", "ovn-nbctl", table, row) }

// SB is a row of the Southbound, as [NB].
func SB(table, row string) Source { return ovnRow("Southbound", "ovn-sbctl", table, row) }

// ICNB is a row of OVN_IC_Northbound, as [NB].
func ICNB(table, row string) Source {
	return ovnRow("OVN_IC_Northbound", "ovn-ic-nbctl", table, row)
}

// ICSB is a row of OVN_IC_Southbound, as [NB].
func ICSB(table, row string) Source {
	return ovnRow("OVN_IC_Southbound", "ovn-ic-sbctl", table, row)
}

// OVS is a row of Open_vSwitch by its name; without a name the whole table.
func OVS(table, row string) Source {
	return Source{RowSource, joined(table, row), joined("ovs-vsctl list", table, inShell(row))}
}

// Setting is a key of the one row of Open_vSwitch, "external_ids:ovn-encap-ip".
func Setting(key string) Source {
	return Source{RowSource, "Open_vSwitch " + key, "ovs-vsctl --if-exists get Open_vSwitch . " + inShell(key)}
}

func ovnRow(database, tool, table, row string) Source {
	return Source{RowSource, joined(database, table, row), joined(tool, "list", table, inShell(row))}
}

// Short is the start of a UUID, as sources name rows.
func Short(id ovsdb.UUID) string { return fmt.Sprintf("%.8s", id) }

// NBRow is evidence from a row of the Northbound.
func NBRow(table string, id ovsdb.UUID, format string, args ...any) Evidence {
	return Evidence{Source: NB(table, Short(id)), Says: fmt.Sprintf(format, args...)}
}

// SBRow is evidence from a row of the Southbound.
func SBRow(table string, id ovsdb.UUID, format string, args ...any) Evidence {
	return Evidence{Source: SB(table, Short(id)), Says: fmt.Sprintf(format, args...)}
}

// File is a file, or a line of it; line 0 is the whole.
func File(path string, line int) Source {
	s := Source{FileSource, "file " + path, joined("cat", inShell(path))}
	if line > 0 {
		s.text += fmt.Sprintf(" line %d", line)
	}
	return s
}

// Directory is a directory.
func Directory(path string) Source {
	return Source{FileSource, "directory " + path, "ls -l " + inShell(path)}
}

// Log is the log of a daemon, or a log file by its path.
func Log(name string) Source {
	s := Source{Kind: LogSource, text: "log " + name}
	if strings.HasPrefix(name, "/") {
		s.Command = "tail -n 200 " + inShell(name)
	}
	return s
}

// Link is a link of the kernel.
func Link(name string) Source {
	return Source{LinkSource, "link " + name, "ip -details address show dev " + inShell(name)}
}

// Addresses are a link's addresses.
func Addresses(link string) Source {
	s := Link(link)
	s.text = "addresses of link " + link
	return s
}

// Neighbours are the neighbour table of a link.
func Neighbours(link string) Source {
	return Source{LinkSource, "neighbour table of link " + link, "ip neighbour show dev " + inShell(link)}
}

// Links are all links of a node.
func Links() Source { return Source{LinkSource, "links", "ip -details link show"} }

// Routes are all routes of a node.
func Routes() Source { return Source{LinkSource, "routes", "ip route show table all"} }

// Flows are a bridge's OpenFlow flows.
func Flows(bridge string) Source {
	return Source{FlowSource, "flows of bridge " + bridge, "ovs-ofctl dump-flows " + inShell(bridge)}
}

// Reply is a daemon's reply to a control command.
func Reply(daemon, command string) Source {
	tool := "ovs-appctl"
	if strings.HasPrefix(daemon, "ovn-") {
		tool = "ovn-appctl"
	}
	return Source{ReplySource, daemon + " " + command, tool + " -t " + daemon + " " + command}
}

// Command is what a command prints.
func Command(line string) Source { return Source{ReplySource, line, line} }

// Socket is a control socket or an endpoint.
func Socket(text string) Source { return Source{Kind: SocketSource, text: text} }

// Endpoint is what connecting to an endpoint of a database shows: "ssl:10.0.0.1:6642".
func Endpoint(remote string) Source { return Socket("connecting to " + remote) }

// FileSystem is the file system that contains a path.
func FileSystem(path string) Source {
	return Source{FileSource, "file system of " + path, "df " + inShell(path)}
}

// Coverage is a coverage counter of a daemon.
func Coverage(daemon, name string) Source {
	s := Reply(daemon, "coverage/read-counter "+name)
	s.Kind, s.text = CounterSource, "coverage "+name
	return s
}

// Counter is a counter, by its name and where it is.
func Counter(text string) Source { return Source{Kind: CounterSource, text: text} }

// Process is a process of a node.
func Process(pid int) Source {
	return Source{ReplySource, fmt.Sprintf("process %d", pid), fmt.Sprintf("ps -o pid,stat,lstart,args -p %d", pid)}
}

// Unit is a unit of systemd.
func Unit(name string) Source {
	return Source{ReplySource, "unit " + name, "systemctl status " + inShell(name)}
}

// Sysctl is a sysctl by its path under /proc/sys, "net/ipv4/ip_forward".
func Sysctl(path string) Source {
	return Source{FileSource, "sysctl " + path, "sysctl " + inShell(path)}
}

// Chain is a chain of the packet filter.
func Chain(c *node.Chain) Source {
	s := Source{Kind: RuleSource, text: joined("chain", c.Family, c.Table, c.Name)}
	switch {
	case !c.Legacy:
		s.Command = joined("nft list chain", c.Family, inShell(c.Table), inShell(c.Name))
	case c.Family == "ip6":
		s.Command = joined("ip6tables-legacy -t", inShell(c.Table), "-S", inShell(c.Name))
	default:
		s.Command = joined("iptables-legacy -t", inShell(c.Table), "-S", inShell(c.Name))
	}
	return s
}

// Other is a source of no other kind.
func Other(text string) Source { return Source{Kind: OtherSource, text: text} }

func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// inShell quotes a word for a shell; an empty word stays empty.
func inShell(word string) string {
	if word == "" {
		return ""
	}
	return fixes.Word(word)
}

// Commands returns the classic commands that show the evidence behind a report, each once.
func (r Report) Commands() []string {
	out := []string{}
	var add func([]Finding)
	add = func(findings []Finding) {
		for _, f := range findings {
			if !f.Result.Fault() {
				continue
			}
			for _, e := range f.Evidence {
				if c := e.Source.Command; c != "" && !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
			add(f.Consequences)
		}
	}
	add(r.Findings)
	return out
}

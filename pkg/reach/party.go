package reach

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// Senders and Receivers are the kinds of things that a selector for either side may match.
var (
	senders   = []topology.Kind{topology.KindPod, topology.KindVM, topology.KindPort, topology.KindNode, topology.KindExternal}
	receivers = []topology.Kind{topology.KindPod, topology.KindVM, topology.KindPort, topology.KindNode, topology.KindExternal, topology.KindRPort, topology.KindService, topology.KindNAT}
)

// A Party sends or receives.
type Party struct {
	Name        string   `json:"name"`        // as given to ovnctl trace
	Kind        string   `json:"kind"`        // pod, vm, port, router port, node, service, nat, external
	Namespace   string   `json:"namespace"`   // of a pod or a service, else empty
	LogicalPort string   `json:"logicalPort"` // empty if it has none
	Switch      string   `json:"switch"`
	Node        string   `json:"node"` // that it is on, empty if unknown
	Addresses   []string `json:"addresses"`
	// Protocol and Port are a service's; else empty and 0: the question's.
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`

	match topology.Match
}

// A Question is the traffic between the parties of a pair.
type Question struct {
	Protocol   string `json:"protocol"`   // icmp, tcp, udp; empty: the service's, else icmp
	Port       int    `json:"port"`       // destination port; 0: the service's
	SourcePort int    `json:"sourcePort"` // 0 for icmp
	Family     int    `json:"family"`     // 4 or 6; 0: IPv4 if both ends have it, else IPv6
}

// String returns the protocol with its port: tcp/8080.
func (q Question) String() string {
	if q.Port == 0 {
		return q.Protocol
	}
	return q.Protocol + "/" + strconv.Itoa(q.Port)
}

// of returns the question for a party.
func (q Question) of(to *Party) Question {
	q.Protocol, q.Port = cmp.Or(to.Protocol, q.Protocol, "icmp"), cmp.Or(to.Port, q.Port)
	if q.Protocol == "icmp" {
		q.Port, q.SourcePort = 0, 0
	}
	return q
}

// A roster finds the parties of selectors, without duplicates.
type roster struct {
	graph   *topology.Graph
	kinds   []topology.Kind
	parties []*Party
	index   map[partyKey]int
	known   map[string][]int // by selector
	called  map[string]int   // how many ports have this CMS name
}

type partyKey struct {
	name, protocol string
	port           int
}

func newRoster(g *topology.Graph, kinds []topology.Kind) *roster {
	r := &roster{graph: g, kinds: kinds, index: map[partyKey]int{}, known: map[string][]int{}, called: map[string]int{}}
	for _, p := range g.Ports {
		r.called[p.DisplayName]++
		r.called[p.Name]++
	}
	return r
}

// find returns a selector's parties; q fills in what services leave open.
func (r *roster) find(selector string, q Question) ([]int, error) {
	key := selector + " " + q.String()
	if found, ok := r.known[key]; ok {
		return found, nil
	}
	matches, err := r.graph.Select(selector, r.kinds...)
	if err != nil {
		return nil, r.unusable(selector, err)
	}
	var found []int
	for _, m := range matches {
		own, err := r.offers(m, q)
		if err != nil {
			if len(matches) == 1 {
				return nil, err
			}
			continue // a service of the namespace without the protocol
		}
		for _, o := range own {
			found = append(found, r.add(r.party(m, o)))
		}
	}
	if len(found) == 0 {
		return nil, &topology.NameError{Text: selector, Reason: fmt.Sprintf("none of its services has a port for %s", q)}
	}
	r.known[key] = found
	return found, nil
}

// unusable explains what a name is that matches something of another kind.
func (r *roster) unusable(selector string, err error) error {
	var name *topology.NameError
	if !errors.As(err, &name) || len(name.Matches) > 0 {
		return err
	}
	m, other := r.graph.Select(selector, topology.Endpoints...)
	switch {
	case other != nil || len(m) == 0:
		return err
	case m[0].Kind == topology.KindNAT:
		return &topology.NameError{Text: selector, Reason: "a translated address sends no packets of its own\nhint: name who is behind it: " + escape.Line(m[0].NATs[0].LogicalIP)}
	case m[0].Kind == topology.KindService:
		return &topology.NameError{Text: selector, Reason: "a service sends no packets\nhint: name the pods that send"}
	}
	return &topology.NameError{Text: selector, Reason: "a router port starts no connections\nhint: name a port of a switch"}
}

// offers returns the questions for a match if it has its own, as a service has for what it listens on. Its own port
// overrides the question's only if the selector named it.
func (r *roster) offers(m topology.Match, q Question) ([]Question, error) {
	switch {
	case q.Protocol == "icmp":
		return []Question{{}}, nil
	case m.Kind != topology.KindService && m.L4Port != 0:
		return []Question{{Protocol: cmp.Or(q.Protocol, "tcp"), Port: m.L4Port}}, nil
	case m.Kind != topology.KindService:
		return []Question{{}}, nil
	}
	var offers []Question
	for _, lb := range m.Balancers {
		for _, v := range lb.VIPs {
			o := Question{Protocol: lb.Protocol, Port: cmp.Or(m.L4Port, v.Port, q.Port)}
			open := (m.L4Port == 0 || v.Port == 0 || v.Port == m.L4Port) && (q.Protocol == "" || q.Protocol == lb.Protocol)
			if !open || !isAsked(m, v.Address) || slices.Contains(offers, o) {
				continue
			}
			offers = append(offers, o)
		}
	}
	switch {
	case q.Protocol != "" && (m.L4Port != 0 || q.Port != 0):
		return []Question{{Protocol: q.Protocol, Port: cmp.Or(m.L4Port, q.Port)}}, nil
	case len(offers) == 0:
		return nil, &topology.NameError{Text: m.Name, Reason: fmt.Sprintf("the service has no port for %s", cmp.Or(q.Protocol, "tcp or udp"))}
	}
	return offers, nil
}

// isAsked reports whether traffic to a match uses this address of its family: a service also has those of nodes.
func isAsked(m topology.Match, text string) bool {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	i := slices.IndexFunc(m.Addresses, func(own netip.Addr) bool { return own.Is6() == a.Is6() })
	return i >= 0 && m.Addresses[i] == a
}

func (r *roster) add(p *Party) int {
	key := partyKey{p.Name, p.Protocol, p.Port}
	i, ok := r.index[key]
	if !ok {
		i = len(r.parties)
		r.index[key] = i
		r.parties = append(r.parties, p)
	}
	return i
}

func (r *roster) party(m topology.Match, own Question) *Party {
	p := &Party{Name: m.Name, Kind: trace.KindNames.Get()[m.Kind], Addresses: []string{}, Protocol: own.Protocol, Port: own.Port, match: m}
	for _, a := range m.Addresses {
		p.Addresses = append(p.Addresses, a.String())
	}
	switch m.Kind {
	case topology.KindPod:
		p.Namespace, _, _ = strings.Cut(m.Port.Pod, "/")
		p.Name = strings.TrimPrefix(p.Name, "pod:")
	case topology.KindService:
		p.Name, p.Namespace = serviceName(m, own.Port)
	case topology.KindVM:
		if name := m.Port.DisplayName; r.called[name] == 1 {
			p.Name = "vm:" + name
		}
	}
	if m.Switch != nil {
		p.Switch = m.Switch.Name
	}
	if m.Chassis != nil {
		p.Node = cmp.Or(m.Chassis.Hostname, m.Chassis.Name)
	}
	if m.Port != nil {
		p.LogicalPort = m.Port.Name
	}
	return p
}

// serviceName returns the name of a service and one of its ports.
func serviceName(m topology.Match, port int) (name, namespace string) {
	name = strings.TrimPrefix(m.Name, "svc:")
	if m.L4Port == 0 && port != 0 {
		if a, err := netip.ParseAddr(name); err == nil {
			return "svc:" + netip.AddrPortFrom(a, uint16(port)).String(), ""
		}
		name += ":" + strconv.Itoa(port)
	}
	if m.Balancers[0].Service != "" {
		namespace, _, _ = strings.Cut(name, "/")
	}
	return "svc:" + name, namespace
}

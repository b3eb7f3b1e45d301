package watch

import (
	"path"
	"slices"
	"strings"
	"time"
)

// A Kind is what an event is about.
type Kind string

// The kinds of events.
const (
	Port         Kind = "port"          // a logical port and where it is
	Policy       Kind = "policy"        // ACLs, and what they were made for
	LoadBalancer Kind = "load-balancer" // VIPs and their backends
	Routing      Kind = "routing"       // routes, policies, NAT and ports of routers
	Gateway      Kind = "gateway"       // which chassis has a gateway
	Chassis      Kind = "chassis"       // nodes that come, go and fall silent
	BFD          Kind = "bfd"           // next hops that BFD watches
	Neighbour    Kind = "neighbour"     // MAC addresses that routers learn
	Progress     Kind = "progress"      // ovn-northd and the chassis catching up with the Northbound
	Database     Kind = "database"      // connections to the databases, and the leaders of their clusters
)

// Kinds are all kinds, with what each is about.
var Kinds = []struct {
	Kind  Kind
	About string
}{
	{Port, "ports added, claimed, up, moved, flapping, released, removed"},
	{Policy, "ACLs, by the NetworkPolicy or group they were made for"},
	{LoadBalancer, "virtual IPs: backends, the last one lost"},
	{Routing, "static routes, policies, NAT and ports of routers"},
	{Gateway, "gateways that move from one chassis to another"},
	{Chassis, "chassis added, removed, silent, caught up"},
	{BFD, "BFD sessions of routes: up, down"},
	{Neighbour, "MAC addresses that routers learn, and that change"},
	{Progress, "how long northd and the chassis took to catch up"},
	{Database, "connections lost and restored, RAFT leaders"},
}

// KindOf returns the kind of that name.
func KindOf(name string) (Kind, bool) {
	for _, k := range Kinds {
		if string(k.Kind) == name {
			return k.Kind, true
		}
	}
	return "", false
}

// An Event is something that happened. All its texts may come from rows.
type Event struct {
	Time    time.Time `json:"time"` // when ovnctl received the change
	Zone    string    `json:"zone,omitempty"`
	Kind    Kind      `json:"type"`
	Action  string    `json:"action"` // claimed, moved, flapping
	Object  string    `json:"object"` // pod shop/web-1
	Message string    `json:"message"`
	By      string    `json:"by,omitempty"`     // who did it, where that is known
	Effect  string    `json:"effect,omitempty"` // what follows
	Names   []string  `json:"names"`            // of all objects that have a part in it

	// Convergence is set if the event is that a change is in force everywhere.
	Convergence *Convergence `json:"-"`
}

// A Convergence is how long a change of the Northbound took to be in force.
type Convergence struct {
	Northd  time.Duration   // until ovn-northd had carried it out: sb_cfg
	Chassis []time.Duration // until each chassis had
	All     time.Duration   // until ovn-northd had seen that all chassis had: hv_cfg
}

// A Filter selects events. The zero Filter selects all.
type Filter struct {
	Kinds   []Kind
	Objects []string // names, patterns as shop/web-*, namespaces as shop/, each perhaps behind "pod/"
}

// Match reports whether the filter selects an event. Events about the databases concern every object.
func (f Filter) Match(e Event) bool {
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) {
		return false
	}
	return len(f.Objects) == 0 || e.Kind == Database || slices.ContainsFunc(f.Objects, e.about)
}

// about reports whether a pattern names an object of the event.
func (e Event) about(pattern string) bool {
	return slices.ContainsFunc(e.Names, func(name string) bool {
		for _, p := range []string{pattern, afterKind(pattern)} {
			if ok, err := path.Match(p, name); p == name || ok && err == nil || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	})
}

// afterKind returns a pattern without the kind before it: pod/shop/web is shop/web.
func afterKind(pattern string) string {
	kind, name, ok := strings.Cut(pattern, "/")
	if ok && slices.Contains([]string{"pod", "vm", "port", "chassis", "node", "lb", "service", "svc", "policy", "networkpolicy", "router", "switch"}, kind) && name != "" {
		return name
	}
	return pattern
}

// unique returns the names that are not empty, each once.
func unique(names ...string) []string {
	var out []string
	for _, n := range names {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

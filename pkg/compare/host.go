package compare

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// A hostState is a node's state besides its database.
type hostState struct {
	network  *node.Network // nil: see why
	why      error
	releases map[string]string // of the daemons that replied
}

// controller is the daemon that installs the flows.
const controller = "ovn-controller"

var daemons = []string{controller, "ovs-vswitchd"}

func readHost(ctx context.Context, n *cluster.Node) hostState {
	h := hostState{releases: map[string]string{}}
	h.network, h.why = n.Host.Network(ctx)
	for _, daemon := range daemons {
		if text, err := n.Host.Control(ctx, daemon, "version"); err == nil {
			h.releases[daemon], _, _ = strings.Cut(text, "\n")
		}
	}
	return h
}

// part returns the state to compare with the other side: a daemon that does not reply there has no release to compare.
func (h hostState) part(other hostState, o Options) *part {
	p := newPart(host, func(k *kind, _ string) bool {
		return k == versionKind || h.network != nil && (k != neighbourKind || o.All)
	})
	for daemon, release := range h.releases {
		if _, known := other.releases[daemon]; known {
			p.fact(versionKind, nil, map[string]string{"daemon": daemon, "version": release})
		}
	}
	if h.network != nil {
		p.addNetwork(h.network)
	}
	return p
}

// fact adds a thing of a node, which may belong to a link.
func (p *part) fact(k *kind, on *record, columns map[string]string) *record {
	r := &record{kind: k, columns: map[string]value{}}
	for name, text := range columns {
		if v := one(text); !v.empty() {
			r.columns[name] = v
		}
	}
	if on != nil {
		r.holders = []*record{on}
	}
	p.add(r)
	return r
}

func (p *part) addNetwork(n *node.Network) {
	links := map[string]*record{}
	for _, l := range n.Links {
		links[l.Name] = p.fact(linkKind, nil, map[string]string{
			"name": l.Name, "kind": l.Kind, "mac": l.MAC, "mtu": strconv.Itoa(l.MTU),
			"up": strconv.FormatBool(l.Up), "state": l.Oper, "master": l.Master,
		})
	}
	for _, a := range n.Addresses {
		flags := slices.DeleteFunc(slices.Clone(a.Flags), func(f string) bool { return f == "tentative" }) // set for a second
		p.fact(addressKind, links[a.Link], map[string]string{
			"address": a.Prefix.String(), "link": a.Link, "scope": a.Scope, "peer": addr(a.Peer), "flags": sorted(flags),
		})
	}
	for _, r := range n.Routes {
		if r.Protocol == "kernel" || r.Table == localTable { // they follow from the addresses
			continue
		}
		var hops []string
		for _, h := range r.Hops {
			hops = append(hops, strings.TrimSpace(fmt.Sprintf("%s %s weight %d %s", addr(h.Via), h.Dev, h.Weight, sorted(h.Flags))))
		}
		p.fact(routeKind, links[r.Dev], map[string]string{
			"dst": r.Dst.String(), "table": table(r.Table), "metric": strconv.Itoa(r.Metric), "type": r.Type, "via": addr(r.Via), "dev": r.Dev,
			"src": addr(r.Src), "from": prefix(r.From), "scope": r.Scope, "protocol": r.Protocol, "metrics": r.Metrics, "hops": strings.Join(hops, ", "), "flags": sorted(r.Flags),
		})
	}
	for _, r := range n.Rules {
		p.fact(ruleKind, nil, map[string]string{"family": strconv.Itoa(r.Family), "priority": strconv.Itoa(r.Priority), "rule": rule(r)})
	}
	for key, text := range n.Sysctl {
		if key == "net/netfilter/nf_conntrack_count" {
			continue // no setting: how many connections there are just now
		}
		p.fact(settingKind, links[linkOf(key)], map[string]string{"key": key, "value": text})
	}
	for _, h := range n.Neighbours {
		p.fact(neighbourKind, links[h.Link], map[string]string{"address": h.Addr.String(), "link": h.Link, "mac": h.MAC, "state": h.State})
	}
}

// The routing tables that the kernel maintains itself and looks up last.
const (
	localTable = 255
	mainTable  = 254
)

func table(n int) string {
	if n == 0 || n == mainTable {
		return ""
	}
	return "table " + strconv.Itoa(n)
}

// rule returns a routing rule as ip-rule(8) shows it, without its priority.
func rule(r node.Rule) string {
	var words []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(r.Not, "not")
	add(r.Src.IsValid(), "from %s", r.Src)
	add(r.Dst.IsValid(), "to %s", r.Dst)
	add(r.Iif != "", "iif %s", r.Iif)
	add(r.Oif != "", "oif %s", r.Oif)
	add(r.Mark != 0 || r.Mask != 0, "fwmark %#x/%#x", r.Mark, r.Mask)
	add(r.Table != 0, "lookup %d", r.Table)
	add(r.Goto != 0, "goto %d", r.Goto)
	add(r.More != "", "%s", r.More)
	return strings.Join(words, " ")
}

// linkOf returns a setting's interface: net/ipv4/conf/NAME/forwarding.
func linkOf(key string) string {
	_, rest, _ := strings.Cut(key, "/conf/")
	if i := strings.LastIndex(rest, "/"); i >= 0 {
		return rest[:i]
	}
	return ""
}

func addr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func prefix(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func sorted(words []string) string {
	return strings.Join(slices.Sorted(slices.Values(words)), " ")
}

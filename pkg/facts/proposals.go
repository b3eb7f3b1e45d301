package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ChassisKeys are the keys of Open_vSwitch.external_ids that a node needs to be a chassis.
var ChassisKeys = []string{"system-id", "ovn-remote", "ovn-encap-type", "ovn-encap-ip"}

// A Proposal is a value for a setting, and its source.
type Proposal struct{ Value, From string }

// proposals holds each value once, with all its sources.
type proposals []Proposal

func (p *proposals) add(value, from string) {
	if value == "" {
		return
	}
	for i := range *p {
		if (*p)[i].Value == value {
			(*p)[i].From += "; " + from
			return
		}
	}
	*p = append(*p, Proposal{value, from})
}

// ProposeChassisKey returns values for one of the [ChassisKeys] that a node lacks.
func ProposeChassisKey(d *snapshot.Deployment, h *snapshot.Host, key string) []Proposal {
	var found proposals
	switch key {
	case "system-id":
		proposeSystemID(&found, h)
	case "ovn-remote":
		proposeRemote(&found, d, h)
	case "ovn-encap-type":
		proposeEncapType(&found, h)
	case "ovn-encap-ip":
		proposeEncapIP(&found, d, h)
	}
	return found
}

func proposeSystemID(found *proposals, h *snapshot.Host) {
	file := path.Join(h.Dirs().Etc, "openvswitch", "system-id.conf")
	if b, err := h.File(file); err == nil {
		found.add(strings.TrimSpace(string(b)), "file "+file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return // the file takes precedence
	}
	south, err := h.Southbound()
	if err != nil {
		return
	}
	sw, err := h.Switch()
	if err != nil {
		return
	}
	network, err := h.Network()
	if err != nil {
		return
	}
	for c := range south.OwnChassis() {
		for ip := range encapsOn(network, south.EncapsOf(c)) {
			found.add(c.Name, fmt.Sprintf("Southbound Chassis of hostname %s, whose encap address %s is on this node", c.Hostname, ip))
		}
		if c.Hostname != "" && c.Hostname == sw.ID("hostname") {
			found.add(c.Name, "Southbound Chassis of hostname "+c.Hostname)
		}
	}
}

// encapsOn returns the addresses of tunnel endpoints that a host has.
func encapsOn(n *node.Network, encaps []sb.Encap) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range encaps {
			if ip, err := netip.ParseAddr(e.IP); err == nil && Holder(n, ip) != nil && !yield(e.IP) {
				return
			}
		}
	}
}

func proposeRemote(found *proposals, d *snapshot.Deployment, h *snapshot.Host) {
	for _, other := range d.Hosts {
		if other == h || other.Zone() != h.Zone() {
			continue
		}
		sw, err := other.Switch()
		if err != nil {
			continue
		}
		if v, _ := sw.Setting("ovn-remote", other.SystemID); !strings.HasPrefix(v, "unix:") {
			found.add(v, "external_ids of "+other.Name)
		}
	}
	if z := h.Zone(); len(*found) == 0 && z != nil {
		if db, err := z.SB(); err == nil && (strings.HasPrefix(db.Origin(), "tcp:") || strings.HasPrefix(db.Origin(), "ssl:")) {
			found.add(db.Origin(), "the Southbound that was read here")
		}
	}
}

func proposeEncapType(found *proposals, h *snapshot.Host) {
	south, err := h.Southbound()
	if err != nil {
		return
	}
	name, _, _ := h.ChassisName()
	if own := south.ChassisNamed(name); own != nil {
		var types []string
		for _, e := range south.EncapsOf(own) {
			types = append(types, e.Type)
		}
		slices.Sort(types)
		found.add(strings.Join(slices.Compact(types), ","), "the node's own Encap rows in the Southbound")
		return
	}
	for c := range south.OwnChassis() {
		for _, e := range south.EncapsOf(c) {
			found.add(e.Type, "Encap of "+c.Hostname)
		}
	}
}

func proposeEncapIP(found *proposals, d *snapshot.Deployment, h *snapshot.Host) {
	network, err := h.Network()
	if err != nil {
		return
	}
	name, _, _ := h.ChassisName()
	if south, err := h.Southbound(); err == nil && south.ChassisNamed(name) != nil {
		for ip := range encapsOn(network, south.EncapsOf(south.ChassisNamed(name))) {
			found.add(ip, "the node's own Encap row in the Southbound")
		}
	}
	if len(*found) == 0 {
		if ip, why, err := EncapCandidate(d, h); err == nil {
			found.add(ip, why)
		}
	}
}

// mostAsked limits the route lookups.
const mostAsked = 100

// EncapCandidate returns the one address from which a host sends to the tunnel addresses of all other chassis. The
// error is why there is none, or that there are several.
func EncapCandidate(d *snapshot.Deployment, h *snapshot.Host) (ip, why string, err error) {
	south, err := h.Southbound()
	if err != nil {
		return "", "", err
	}
	network, err := h.Network()
	if err != nil {
		return "", "", err
	}
	name, _, _ := h.ChassisName()
	to := map[netip.Addr]string{} // tunnel addresses, by hostname
	for _, c := range south.Chassis {
		for _, e := range south.EncapsOf(&c) {
			if a, err := netip.ParseAddr(e.IP); err == nil && c.Name != name && Holder(network, a) == nil && len(to) < mostAsked {
				to[a] = c.Hostname
			}
		}
	}
	from := map[string]int{}
	for _, a := range slices.SortedFunc(maps.Keys(to), netip.Addr.Compare) {
		r, err := h.Node().Route(d.Context(), node.RouteQuery{Dst: a})
		if err != nil {
			return "", "", err
		}
		if r.Type != "unicast" || !r.Src.IsValid() {
			return "", "", fmt.Errorf("%s has no route to %s, the tunnel address of %s", h.Name, a, to[a])
		}
		from[r.Src.String()]++
	}
	sources := slices.Sorted(maps.Keys(from))
	switch len(sources) {
	case 0:
		return "", "", errors.New("there is no other chassis to which a route would show the address")
	case 1:
		return sources[0], fmt.Sprintf("%s sends from it to the tunnel addresses of all %d other chassis that were tried", h.Name, len(to)), nil
	}
	for i, a := range sources {
		sources[i] = fmt.Sprintf("%s (to %d)", a, from[a])
	}
	return "", "", fmt.Errorf("%s sends to other chassis from several addresses: %s", h.Name, strings.Join(sources, ", "))
}

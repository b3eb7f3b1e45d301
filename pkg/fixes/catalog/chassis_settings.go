package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ChassisKeys are the keys of Open_vSwitch.external_ids without which a node becomes no chassis.
var ChassisKeys = []string{"system-id", "ovn-remote", "ovn-encap-type", "ovn-encap-ip"}

// setID is the step that sets a key of Open_vSwitch.external_ids.
func setID(sw *snapshot.Switch, key, value, what string) fixes.Rows {
	before := fixes.Row{"external_ids:" + key: nil}
	if old, ok := sw.OpenvSwitch[0].ExternalIDs[key]; ok {
		before["external_ids:"+key] = old
	}
	return fixes.Rows{
		DB: "Open_vSwitch", What: what,
		Changes: []fixes.Change{{
			Table: "Open_vSwitch", UUID: sw.OpenvSwitch[0].UUID,
			Before: before, After: fixes.Row{"external_ids:" + key: value},
		}},
		Classic: []string{fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, value)},
	}
}

// A Proposal is a value for a setting, and where it comes from.
type Proposal struct{ Value, From string }

// proposals keeps each value once, with all that speaks for it.
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

// ProposeChassisKey lists values for a key that a node lacks to be a chassis.
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
		return // what the file says would come first
	}
	z := h.Zone()
	if z == nil {
		return
	}
	south, err := z.Southbound()
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
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if snapshot.Elsewhere(c) {
			continue
		}
		for _, e := range south.EncapsOf(c) {
			if ip, err := netip.ParseAddr(e.IP); err == nil && Holds(network, ip) {
				found.add(c.Name, fmt.Sprintf("Southbound Chassis of hostname %s, whose encap address %s is of this node", c.Hostname, e.IP))
			}
		}
		if c.Hostname != "" && c.Hostname == sw.ID("hostname") {
			found.add(c.Name, "Southbound Chassis of hostname "+c.Hostname)
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
	z := h.Zone()
	if z == nil {
		return
	}
	south, err := z.Southbound()
	if err != nil {
		return
	}
	name, _, _ := h.ChassisName()
	if c := south.ChassisNamed(name); c != nil {
		var types []string
		for _, e := range south.EncapsOf(c) {
			if !slices.Contains(types, e.Type) {
				types = append(types, e.Type)
			}
		}
		slices.Sort(types)
		found.add(strings.Join(types, ","), "the node's own Encap rows in the Southbound")
		return
	}
	for i := range south.Chassis {
		if c := &south.Chassis[i]; !snapshot.Elsewhere(c) {
			for _, e := range south.EncapsOf(c) {
				found.add(e.Type, "Encap of "+c.Hostname)
			}
		}
	}
}

func proposeEncapIP(found *proposals, d *snapshot.Deployment, h *snapshot.Host) {
	network, err := h.Network()
	if err != nil {
		return
	}
	if z := h.Zone(); z != nil {
		if south, err := z.Southbound(); err == nil {
			name, _, _ := h.ChassisName()
			if c := south.ChassisNamed(name); c != nil {
				for _, e := range south.EncapsOf(c) {
					if ip, err := netip.ParseAddr(e.IP); err == nil && Holds(network, ip) {
						found.add(e.IP, "the node's own Encap row in the Southbound")
					}
				}
			}
		}
	}
	if len(*found) == 0 {
		if ip, why, err := EncapCandidate(d, h); err == nil {
			found.add(ip, why)
		}
	}
}

// Holds says whether an address is on a link of a host.
func Holds(n *node.Network, ip netip.Addr) bool {
	for _, a := range n.Addresses {
		if a.Prefix.Addr() == ip.Unmap() {
			return true
		}
	}
	return false
}

// EncapCandidate is the one address of a host from which it sends to the tunnel endpoints of all
// other chassis. The error says why there is none, or that there are several.
func EncapCandidate(d *snapshot.Deployment, h *snapshot.Host) (ip, why string, err error) {
	z := h.Zone()
	if z == nil {
		return "", "", errors.New("the zone of " + h.Name + " was not read")
	}
	south, err := z.Southbound()
	if err != nil {
		return "", "", err
	}
	network, err := h.Network()
	if err != nil {
		return "", "", err
	}
	name, _, _ := h.ChassisName()
	from := map[string]int{}
	asked := map[netip.Addr]bool{}
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if c.Name == name {
			continue
		}
		for _, e := range south.EncapsOf(c) {
			to, err := netip.ParseAddr(e.IP)
			if err != nil || asked[to] || Holds(network, to) || len(asked) >= 100 {
				continue
			}
			asked[to] = true
			r, err := h.Node().Route(d.Context(), node.RouteQuery{Dst: to})
			if err != nil {
				return "", "", err
			}
			if r.Type != "unicast" || !r.Src.IsValid() {
				return "", "", fmt.Errorf("%s has no route to %s, the tunnel endpoint of %s", h.Name, to, c.Hostname)
			}
			from[r.Src.String()]++
		}
	}
	switch len(from) {
	case 0:
		return "", "", errors.New("there is no other chassis to which a route would show the address")
	case 1:
		for ip = range from {
		}
		return ip, fmt.Sprintf("%s sends from it to the tunnel endpoints of all %d other chassis that were tried", h.Name, len(asked)), nil
	}
	var all []string
	for a, n := range from {
		all = append(all, fmt.Sprintf("%s (to %d)", a, n))
	}
	slices.Sort(all)
	return "", "", fmt.Errorf("%s sends to other chassis from several addresses: %s", h.Name, strings.Join(all, ", "))
}

func listProposals(ps []Proposal) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s (%s)", p.Value, p.From))
	}
	return strings.Join(out, ", ")
}

// validSetting says what is wrong with a value for a key.
func validSetting(h *snapshot.Host, key, value string) error {
	switch key {
	case "system-id":
		if strings.ContainsAny(value, " \t\n,") {
			return fmt.Errorf("system-id %q: it is one word", value)
		}
	case "ovn-remote":
		return ovsdb.CheckRemotes(value)
	case "ovn-encap-type":
		for t := range strings.SplitSeq(value, ",") {
			if t != "geneve" && t != "vxlan" {
				return fmt.Errorf("ovn-encap-type %q: ovn-controller knows geneve and vxlan", t)
			}
		}
	case "ovn-encap-ip":
		network, err := h.Network()
		if err != nil {
			return err
		}
		for s := range strings.SplitSeq(value, ",") {
			ip, err := netip.ParseAddr(strings.TrimSpace(s))
			if err != nil {
				return fmt.Errorf("ovn-encap-ip %q is not an address", s)
			}
			if !Holds(network, ip) {
				return fixes.Refuse("ip address add it first, or name one that is there", "address %s is on no link of %s", ip, h.Name)
			}
		}
	}
	return nil
}

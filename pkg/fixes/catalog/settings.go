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

// SetChassisKey gives a node a setting without which it becomes no chassis.
var SetChassisKey = &fixes.Repair{
	Name: "set-chassis-key",
	Doc: `Give a node a setting that it lacks to be a chassis

Sets system-id, ovn-remote, ovn-encap-type or ovn-encap-ip in Open_vSwitch.external_ids.
Without a VALUE it takes the one that there is evidence for: the file
system-id.conf, the node's old rows in the Southbound, the settings of other nodes, the
routes to them. It refuses where there is none or where they differ, and an encap
address that is on no link of the node.`,
	Params: []fixes.Param{
		{Name: "KEY", Doc: "system-id, ovn-remote, ovn-encap-type or ovn-encap-ip"},
		{Name: "VALUE", Doc: "its value", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "missing-external-ids",
	Plan:  planChassisKey,
}

func planChassisKey(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	key, value := a["KEY"], a["VALUE"]
	if !slices.Contains(ChassisKeys, key) {
		return nil, fmt.Errorf("no key %q; there are %s", key, strings.Join(ChassisKeys, ", "))
	}
	h, sw, err := localSwitch(d)
	if err != nil {
		return nil, err
	}
	if len(sw.OpenvSwitch) == 0 {
		return nil, fixes.Refuse("ovs-vsctl init", "the database of %s has no row in Open_vSwitch", h.Name)
	}
	name, source, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	if old, from := sw.Setting(key, name); old != "" {
		return nil, fixes.Refuse("", "%s is set on %s: external_ids:%s=%s", key, h.Name, from, old)
	}
	if key == "system-id" && name != "" {
		return nil, fixes.Refuse("", "%s has its system-id from %s", h.Name, source)
	}
	if value == "" {
		proposed := ProposeChassisKey(d, h, key)
		switch len(proposed) {
		case 0:
			return nil, fixes.Refuse(fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE", key), "nothing here tells what %s of %s should be", key, h.Name)
		case 1:
			value = proposed[0].Value
		default:
			return nil, fixes.Refuse(fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE", key), "there is more than one value for %s of %s: %s", key, h.Name, listProposals(proposed))
		}
	}
	if err := validSetting(h, key, value); err != nil {
		return nil, err
	}
	title := fmt.Sprintf("set %s of %s to %s", key, h.Name, value)
	return &fixes.Plan{
		Title: title, Host: h.Name,
		Touches: "the tunnels and ports of " + h.Name + ", which becomes a chassis with it",
		Steps:   []fixes.Step{setID(sw, key, value, title)},
	}, nil
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

// SetEncapIP moves a node's tunnels to an address that it has.
var SetEncapIP = &fixes.Repair{
	Name: "set-encap-ip",
	Doc: `Move the tunnels of this node to an address that it has

Sets ovn-encap-ip. Without an IP it takes the address from which the node sends
to the tunnel endpoints of all other chassis, and refuses where these are several. All
other chassis make their tunnels to this node anew.`,
	Params: []fixes.Param{{Name: "IP", Doc: "an address of this node", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "encap-ip-not-local",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		ip := a["IP"]
		if ip == "" {
			if ip, _, err = EncapCandidate(d, h); err != nil {
				return nil, fixes.Refuse("ovnctl fix set-encap-ip IP", "the right address cannot be told: %v", err)
			}
		}
		if err := validSetting(h, "ovn-encap-ip", ip); err != nil {
			return nil, err
		}
		name, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		old, key := sw.Setting("ovn-encap-ip", name)
		switch {
		case old == ip:
			return nil, fixes.Refuse("", "%s of %s is %s already", key, h.Name, ip)
		case strings.Contains(old, ",") && !strings.Contains(ip, ","):
			return nil, fixes.Refuse("ovnctl fix set-encap-ip IP,IP", "%s of %s names several addresses: %s", key, h.Name, old)
		}
		if south, err := southOf(h); err == nil {
			for _, e := range south.Encaps {
				if e.IP == ip && e.ChassisName != name {
					return nil, fixes.Refuse("ovnctl doctor --only duplicate-chassis-stale", "address %s is the tunnel endpoint of chassis %s", ip, e.ChassisName)
				}
			}
		}
		title := fmt.Sprintf("move the tunnels of %s from %s to %s", h.Name, old, ip)
		return &fixes.Plan{
			Title: title, Host: h.Name,
			Touches:  "all tunnels of " + h.Name,
			Warnings: []string{"whatever configured ovn-encap-ip at boot (the cluster's management system, a systemd unit, cloud-init) may write " + old + " again"},
			Steps:    []fixes.Step{setID(sw, key, ip, title)},
		}, nil
	},
}

func southOf(h *snapshot.Host) (*snapshot.Southbound, error) {
	z := h.Zone()
	if z == nil {
		return nil, errors.New("the zone of " + h.Name + " was not read")
	}
	return z.Southbound()
}

// SetHostname gives a chassis the name by which the cluster's management system knows its node.
var SetHostname = &fixes.Repair{
	Name: "set-chassis-hostname",
	Doc: `Give this chassis the hostname by which the cluster knows the node

Sets Open_vSwitch.external_ids:hostname, which ovn-controller writes to
Chassis.hostname.`,
	Params: []fixes.Param{{Name: "NAME", Doc: "the node's name in the cluster"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "hostname-mismatch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		name := a["NAME"]
		if name == "" || strings.ContainsAny(name, " \t\n,/") {
			return nil, fmt.Errorf("%q is no hostname", name)
		}
		if len(sw.OpenvSwitch) == 0 {
			return nil, fixes.Refuse("ovs-vsctl init", "the database of %s has no row in Open_vSwitch", h.Name)
		}
		if sw.ID("hostname") == name {
			return nil, fixes.Refuse("", "external_ids:hostname of %s is %s already", h.Name, name)
		}
		if south, err := southOf(h); err == nil {
			me, _, _ := h.ChassisName()
			for _, c := range south.Chassis {
				if c.Hostname == name && c.Name != me {
					return nil, fixes.Refuse("ovnctl doctor --only duplicate-chassis-stale", "chassis %s has the hostname %s", c.Name, name)
				}
			}
		}
		title := fmt.Sprintf("set the hostname of chassis %s to %s", h.Name, name)
		return &fixes.Plan{
			Title: title, Host: h.Name,
			Touches:  "the gateways and ports that ask for chassis " + name,
			Warnings: []string{"ovs-ctl record-hostname-if-not-set, at boot, keeps what is set here"},
			Steps:    []fixes.Step{setID(sw, "hostname", name, title)},
		}, nil
	},
}

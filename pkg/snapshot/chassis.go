package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Again is a second look some seconds after this one, for what may only be
// passing: a port that is being plugged, a controller that is about to catch up.
// It is the same for all who ask. Of saved data it is the same look.
func (d *Deployment) Again() (*Deployment, error) {
	if d.saved() {
		return d, nil
	}
	return Derive(d, "again", func() (*Deployment, error) {
		select {
		case <-d.ctx.Done():
			return nil, d.ctx.Err()
		case <-time.After(againAfter):
		}
		second := Look(d.ctx, d.cluster.Again(), Options{})
		for _, h := range second.Hosts {
			h.before = d.Host(h.Name)
		}
		return second, nil
	})
}

// saved reports whether nothing here is live: no host is this one, and no database has a server.
func (d *Deployment) saved() bool {
	if d.Local() != nil {
		return false
	}
	for _, z := range d.Zones {
		for _, db := range []ovsdb.Reader{z.nb, z.sb} {
			if _, ok := db.(*ovsdb.Client); ok {
				return false
			}
		}
	}
	return true
}

// Sample is how long Later waits; 0: there is no second look.
func (d *Deployment) Sample() time.Duration { return d.sample }

// Zone is the zone that the host's chassis is in; nil: it is not among those read.
func (h *Host) Zone() *Zone {
	if len(h.d.Zones) == 1 {
		return h.d.Zones[0]
	}
	for _, z := range h.d.Zones {
		if z.Name == h.node.Zone {
			return z
		}
	}
	return nil
}

// Southbound is that of the host's zone.
func (h *Host) Southbound() (*Southbound, error) {
	z := h.Zone()
	if z == nil {
		return nil, errors.New("the databases of the zone of " + h.Name + " were not read")
	}
	return z.Southbound()
}

// ChassisName is the system-id of the host's ovn-controller, and where it has it from: its
// command line, the file system-id-override, or the database, in this order (ovn-controller(8)).
// Both are empty where there is none.
func (h *Host) ChassisName() (name, source string, err error) {
	s, err := h.Switch()
	if err != nil {
		return "", "", err
	}
	processes, _ := h.Processes() // where they cannot be read, the others tell
	for _, p := range processes {
		i := slices.IndexFunc(p.Args, func(a string) bool { return a == "-n" || a == "--chassis" })
		if p.Name == "ovn-controller" && i >= 0 && i+1 < len(p.Args) {
			return p.Args[i+1], "the command line of ovn-controller", nil
		}
	}
	file := path.Join(h.Dirs().Etc, "ovn", "system-id-override")
	if b, err := h.File(file); err == nil && strings.TrimSpace(string(b)) != "" {
		return strings.TrimSpace(string(b)), "file " + file, nil
	}
	if name := s.ID("system-id"); name != "" {
		return name, "external_ids:system-id", nil
	}
	return "", "", nil
}

// ID is a value of Open_vSwitch.external_ids.
func (s *Switch) ID(key string) string {
	if len(s.OpenvSwitch) == 0 {
		return ""
	}
	return s.OpenvSwitch[0].ExternalIDs[key]
}

// Setting is what ovn-controller of a chassis takes for a key of Open_vSwitch.external_ids, and the key itself: one
// that ends in "-" and the chassis' name comes before that for all (ovn-controller(8)). The value is empty where there is none.
func (s *Switch) Setting(key, chassis string) (value, from string) {
	if chassis != "" {
		if v := s.ID(key + "-" + chassis); v != "" {
			return v, key + "-" + chassis
		}
	}
	return s.ID(key), key
}

// IntegrationBridge is the name of the bridge that ovn-controller of a chassis works on.
func (s *Switch) IntegrationBridge(chassis string) string {
	name, _ := s.Setting("ovn-bridge", chassis)
	return cmp.Or(name, "br-int")
}

// LikelyBridge is the integration bridge by what was read when the host was found: it is known before anything is asked.
// It is empty where that does not tell, and another one where the host has several chassis with a bridge each.
func (h *Host) LikelyBridge() string {
	s := Switch{OpenvSwitch: []vswitch.OpenvSwitch{{ExternalIDs: h.node.ExternalIDs}}}
	if !s.RunsOVN() {
		return ""
	}
	return s.IntegrationBridge("")
}

// RunsOVN reports whether the host is meant to be a chassis: that something is set for ovn-controller, or
// that it has worked here. A system-id alone is had by every Open vSwitch.
func (s *Switch) RunsOVN() bool {
	if len(s.OpenvSwitch) == 0 {
		return false
	}
	for key := range s.OpenvSwitch[0].ExternalIDs {
		if strings.HasPrefix(key, "ovn-remote") || strings.HasPrefix(key, "ovn-encap-") || strings.HasPrefix(key, "ovn-bridge-mappings") {
			return true
		}
	}
	for _, b := range s.Bridges {
		if _, ok := b.ExternalIDs["ovn-nb-cfg"]; ok {
			return true
		}
	}
	return false
}

// A BridgeInterface is an interface with the port and the bridge that it is in.
type BridgeInterface struct {
	*vswitch.InterfaceBrief
	Port   *vswitch.PortBrief
	Bridge *vswitch.BridgeBrief
}

// OFNumber is the OpenFlow port of the interface; 0: it has none.
func (p BridgeInterface) OFNumber() int {
	if n := p.OFPort.Get(); n > 0 {
		return n
	}
	return 0
}

// BridgeInterfaces are the interfaces of all bridges, in the order of the interfaces.
func (s *Switch) BridgeInterfaces() []BridgeInterface {
	ports := map[ovsdb.UUID]BridgeInterface{}
	for i := range s.Bridges {
		for _, id := range s.Bridges[i].Ports {
			ports[id] = BridgeInterface{Bridge: &s.Bridges[i]}
		}
	}
	at := map[ovsdb.UUID]BridgeInterface{}
	for i := range s.Ports {
		p, ok := ports[s.Ports[i].UUID]
		if !ok {
			continue
		}
		p.Port = &s.Ports[i]
		for _, id := range s.Ports[i].Interfaces {
			at[id] = p
		}
	}
	var all []BridgeInterface
	for i := range s.Interfaces {
		if p, ok := at[s.Interfaces[i].UUID]; ok {
			p.InterfaceBrief = &s.Interfaces[i]
			all = append(all, p)
		}
	}
	return all
}

// Bridge is a bridge by its name; nil: there is none.
func (s *Switch) Bridge(name string) *vswitch.BridgeBrief {
	return First(s.Bridges, func(b *vswitch.BridgeBrief) bool { return b.Name == name })
}

// ChassisNamed is the chassis with a system-id; nil: there is none.
func (s *Southbound) ChassisNamed(name string) *sb.Chassis {
	return First(s.Chassis, func(c *sb.Chassis) bool { return name != "" && c.Name == name })
}

// fewPorts are so few that a Southbound is asked once more at once. After a larger answer the server sets its memory in
// order before it looks at the next question, for as long as all else takes.
const fewPorts = 1000

// Rewritten are the names of the chassis whose node has another name or other tunnel endpoints than when the deployment
// was opened, or, of a small Southbound, now: settings were changed, or two nodes write one row in turn.
func (z *Zone) Rewritten(s *Southbound) (map[string]bool, error) {
	others := z.opened
	if len(s.PortBindings) <= fewPorts {
		now, err := ovsdb.Find[sb.ChassisIdentity](z.d.ctx, z.sb)
		if err != nil {
			return nil, err
		}
		others = slices.Concat(others, now)
	}
	read := Index(s.Chassis, func(c *sb.Chassis) string { return c.Name })
	names := map[string]bool{}
	for _, other := range others {
		if c := read[other.Name]; c != nil && (c.Hostname != other.Hostname || !slices.Equal(c.Encaps, other.Encaps)) {
			names[c.Name] = true
		}
	}
	return names, nil
}

// PortBinding is the row of a logical port; nil: there is none.
func (s *Southbound) PortBinding(port string) *sb.PortBindingBrief {
	return First(s.PortBindings, func(b *sb.PortBindingBrief) bool { return b.LogicalPort == port })
}

// EncapsOf are the tunnel endpoints of a chassis.
func (s *Southbound) EncapsOf(c *sb.Chassis) []sb.Encap {
	var encaps []sb.Encap
	for _, e := range s.Encaps {
		if c.Encaps.Has(e.UUID) {
			encaps = append(encaps, e)
		}
	}
	return encaps
}

// Elsewhere reports whether a chassis stands for another zone's node or a VTEP, which never move: they
// report no nb_cfg and cannot be asked.
func Elsewhere(c *sb.Chassis) bool {
	return c.OtherConfig["is-remote"] == "true" || c.OtherConfig["is-vtep"] == "true" || len(c.VtepLogicalSwitches) > 0
}

// OwnChassis are the chassis of this zone's nodes.
func (s *Southbound) OwnChassis() iter.Seq[*sb.Chassis] {
	return func(yield func(*sb.Chassis) bool) {
		for i := range s.Chassis {
			if c := &s.Chassis[i]; !Elsewhere(c) && !yield(c) {
				return
			}
		}
	}
}

// Answers reports whether a machine answers at an address, from the host that ovnctl runs on: one try to
// connect, to a port where nobody listens. Refused is an answer, too. The error is that it cannot be
// asked, which no answer is not.
func (d *Deployment) Answers(ip string) (bool, error) {
	if d.saved() || d.Local() == nil {
		return false, errors.New("only a node can probe addresses: run ovnctl on one")
	}
	return read(&d.memo, question{"answers", ip}, func() (bool, error) {
		ctx, cancel := context.WithTimeout(d.ctx, 2*time.Second)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(ip, "6081"))
		switch {
		case err == nil:
			_ = conn.Close()
			return true, nil
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
			return true, nil
		case d.ctx.Err() != nil:
			return false, d.ctx.Err()
		case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
			return false, fmt.Errorf("%s: %w", ip, err)
		}
		return false, nil
	})
}

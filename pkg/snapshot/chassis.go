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

// Again returns a second sample some seconds after this one, for what may be transient: a port just being created, a
// controller about to catch up. All callers get the same one. For a capture, or one host of a sample, it is the same sample.
func (d *Deployment) Again() (*Deployment, error) {
	if d.whole != nil || d.saved() {
		return d, nil
	}
	return Derive(d, "again", func() (*Deployment, error) {
		select {
		case <-d.ctx.Done():
			return nil, d.ctx.Err()
		case <-time.After(againAfter):
		}
		second := Look(d.ctx, d.cluster.Again(), Options{Parallel: d.parallel})
		for _, h := range second.Hosts {
			h.before = d.Host(h.Name)
		}
		return second, nil
	})
}

// saved reports whether nothing is live: no host is this one, and no database has a server.
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

// Sample returns how long Later waits; 0 if there is no second sample.
func (d *Deployment) Sample() time.Duration { return d.sample }

// Zone returns the zone of the host's chassis; nil if it was not read.
func (h *Host) Zone() *Zone {
	of := h.d.cluster.ZoneOf(h.node)
	for i, z := range h.d.cluster.Zones {
		if z == of {
			return h.d.Zones[i]
		}
	}
	return nil
}

// Southbound returns the Southbound of the host's zone.
func (h *Host) Southbound() (*Southbound, error) {
	z := h.Zone()
	if z == nil {
		return nil, errors.New("the databases of the zone of " + h.Name + " were not read")
	}
	return z.Southbound()
}

// chassisName is a system-id and where it is from.
type chassisName struct{ name, source string }

// ChassisName returns the system-id of the host's ovn-controller, and its source: the command line, the file
// system-id-override, or the database, in this order (ovn-controller(8)). Both are empty if not set.
func (h *Host) ChassisName() (name, source string, err error) {
	c, err := Distil(h, "", h.chassisName)
	return c.name, c.source, err
}

func (h *Host) chassisName() (c chassisName, err error) {
	s, err := h.Switch()
	if err != nil {
		return c, err
	}
	processes, _ := h.Processes() // if unreadable, the other sources decide
	for _, p := range processes {
		i := slices.IndexFunc(p.Args, func(a string) bool { return a == "-n" || a == "--chassis" })
		if p.Name == "ovn-controller" && i >= 0 && i+1 < len(p.Args) {
			return chassisName{p.Args[i+1], "the command line of ovn-controller"}, nil
		}
	}
	file := path.Join(h.Dirs().Etc, "ovn", "system-id-override")
	if b, err := h.File(file); err == nil && strings.TrimSpace(string(b)) != "" {
		return chassisName{strings.TrimSpace(string(b)), "file " + file}, nil
	}
	if name := s.ID("system-id"); name != "" {
		return chassisName{name, "external_ids:system-id"}, nil
	}
	return c, nil
}

// Settings are the columns of a host's row of Open_vSwitch by which it is configured.
type Settings struct{ ExternalIDs, OtherConfig map[string]string }

// Settings returns the host's settings. They stay when the host's database is forgotten.
func (h *Host) Settings() (Settings, error) {
	return Distil(h, "", func() (Settings, error) {
		s, err := h.Switch()
		if err != nil {
			return Settings{}, err
		}
		return s.settings(), nil
	})
}

func (s *Switch) settings() Settings {
	if len(s.OpenvSwitch) == 0 {
		return Settings{}
	}
	return Settings{s.OpenvSwitch[0].ExternalIDs, s.OpenvSwitch[0].OtherConfig}
}

// Setting returns the value that the ovn-controller of a chassis uses for a key of Open_vSwitch.external_ids, and
// that key: one with the suffix "-" and the chassis' name takes precedence over the general one (ovn-controller(8)).
// The value is empty if not set.
func (s Settings) Setting(key, chassis string) (value, from string) {
	if chassis != "" {
		if v := s.ExternalIDs[key+"-"+chassis]; v != "" {
			return v, key + "-" + chassis
		}
	}
	return s.ExternalIDs[key], key
}

// ID returns a value of Open_vSwitch.external_ids.
func (s *Switch) ID(key string) string { return s.settings().ExternalIDs[key] }

// Setting is [Settings.Setting].
func (s *Switch) Setting(key, chassis string) (value, from string) {
	return s.settings().Setting(key, chassis)
}

// IntegrationBridge returns the bridge that the ovn-controller of a chassis uses.
func (s *Switch) IntegrationBridge(chassis string) string {
	name, _ := s.Setting("ovn-bridge", chassis)
	return cmp.Or(name, "br-int")
}

// LikelyBridge returns the integration bridge as read when the host was found, before any query. It is empty if
// unknown, and may be another one if the host has several chassis with a bridge each.
func (h *Host) LikelyBridge() string {
	s := Switch{OpenvSwitch: []vswitch.OpenvSwitch{{ExternalIDs: h.node.ExternalIDs}}}
	if !s.RunsOVN() {
		return ""
	}
	return s.IntegrationBridge("")
}

// RunsOVN reports whether the host is meant to be a chassis: ovn-controller is configured or has run here. A
// system-id alone proves nothing, every Open vSwitch has one.
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

// A BridgeInterface is an interface with its port and bridge.
type BridgeInterface struct {
	*vswitch.InterfaceBrief
	Port   *vswitch.PortBrief
	Bridge *vswitch.BridgeBrief
}

// OFNumber returns the interface's OpenFlow port, 0 if none.
func (p BridgeInterface) OFNumber() int {
	if n := p.OFPort.Get(); n > 0 {
		return n
	}
	return 0
}

// BridgeInterfaces returns the interfaces of all bridges, in the order of the interfaces.
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

// Bridge returns the bridge with that name, nil if not found.
func (s *Switch) Bridge(name string) *vswitch.BridgeBrief {
	return First(s.Bridges, func(b *vswitch.BridgeBrief) bool { return b.Name == name })
}

// ChassisNamed returns the chassis with a system-id, nil if not found.
func (s *Southbound) ChassisNamed(name string) *sb.Chassis {
	return First(s.Chassis, func(c *sb.Chassis) bool { return name != "" && c.Name == name })
}

// fewPorts is the most ports for which a Southbound is queried again at once. After a larger reply the server
// compacts its memory before the next request, for as long as everything else takes.
const fewPorts = 1000

// Rewritten returns the names of the chassis whose hostname or tunnel endpoints differ from when the deployment was
// opened, or, in a small Southbound, from now: settings were changed, or two nodes overwrite one row in turn.
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

// PortBinding returns the row of a logical port, nil if not found.
func (s *Southbound) PortBinding(port string) *sb.PortBindingBrief {
	return First(s.PortBindings, func(b *sb.PortBindingBrief) bool { return b.LogicalPort == port })
}

// EncapsOf returns the tunnel endpoints of a chassis.
func (s *Southbound) EncapsOf(c *sb.Chassis) []sb.Encap {
	var encaps []sb.Encap
	for _, e := range s.Encaps {
		if c.Encaps.Has(e.UUID) {
			encaps = append(encaps, e)
		}
	}
	return encaps
}

// Elsewhere reports whether a chassis stands for another zone's node or a VTEP. These never report nb_cfg and cannot
// be reached.
func Elsewhere(c *sb.Chassis) bool {
	return c.OtherConfig["is-remote"] == "true" || c.OtherConfig["is-vtep"] == "true" || len(c.VtepLogicalSwitches) > 0
}

// OwnChassis returns the chassis of this zone's nodes.
func (s *Southbound) OwnChassis() iter.Seq[*sb.Chassis] {
	return func(yield func(*sb.Chassis) bool) {
		for i := range s.Chassis {
			if c := &s.Chassis[i]; !Elsewhere(c) && !yield(c) {
				return
			}
		}
	}
}

// Answers reports whether a machine replies at an address, seen from the host ovnctl runs on: one connection attempt
// to a port where nobody listens. A refusal is a reply, too. An error means that it could not be tried; no reply is
// not an error.
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

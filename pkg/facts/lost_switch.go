package facts

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// LostSwitch is a node whose database is new and empty, though the Southbound knows the node.
type LostSwitch struct {
	Chassis  string // Chassis.name
	Host     string // Chassis.hostname
	Remote   string // external_ids:ovn-remote of another node; empty: none was read
	Type, IP string // of its Encaps
	Mappings string // ovn-bridge-mappings
	Datapath string // datapath type of its bridges
}

// ReadLostSwitch is what the Southbound knows of a node whose database is empty. It is
// nil if the database is not empty, or if the Southbound does not know the node.
func ReadLostSwitch(d *snapshot.Deployment, h *snapshot.Host) (*LostSwitch, error) {
	s, err := h.Switch()
	if err != nil || !isNew(s) {
		return nil, err
	}
	id := s.ID("system-id")
	if text, err := h.File(path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")); err == nil && strings.TrimSpace(string(text)) != "" {
		id = strings.TrimSpace(string(text))
	}
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		c := south.ChassisNamed(id)
		if c == nil || snapshot.Elsewhere(c) {
			continue
		}
		l := &LostSwitch{Chassis: c.Name, Host: c.Hostname, Mappings: c.OtherConfig["ovn-bridge-mappings"], Datapath: c.OtherConfig["datapath-type"]}
		var types []string
		for _, e := range south.EncapsOf(c) {
			l.IP = cmp.Or(l.IP, e.IP)
			if e.IP == l.IP {
				types = append(types, e.Type)
			}
		}
		l.Type = strings.Join(types, ",")
		for _, other := range d.Hosts {
			if o, err := other.Switch(); err == nil && other != h && l.Remote == "" {
				l.Remote = o.ID("ovn-remote")
			}
		}
		return l, nil
	}
	return nil, nil
}

// isNew reports whether a node's database has nothing that ovn-controller would not create itself.
func isNew(s *snapshot.Switch) bool {
	if len(s.OpenvSwitch) == 0 {
		return false
	}
	for key := range s.OpenvSwitch[0].ExternalIDs {
		if strings.HasPrefix(key, "ovn-") {
			return false
		}
	}
	return !slices.ContainsFunc(s.Bridges, func(b vswitch.BridgeBrief) bool { return b.Name != s.IntegrationBridge("") || len(b.Ports) > 1 })
}

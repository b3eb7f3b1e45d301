package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Encapsulations are the tunnel types of a deployment's chassis, without VTEPs and chassis of other zones.
type Encapsulations struct {
	VXLAN     []*sb.Chassis     // those with VXLAN
	OnlyVXLAN []*sb.Chassis     // and nothing else
	Types     map[string]string // by chassis name: "geneve,vxlan"
}

// EncapsulationsOf collects the tunnel types.
func EncapsulationsOf(south *snapshot.Southbound) Encapsulations {
	out := Encapsulations{Types: map[string]string{}}
	types := map[string][]string{}
	for _, e := range south.Encaps {
		types[e.ChassisName] = append(types[e.ChassisName], e.Type)
	}
	for c := range south.OwnChassis() {
		slices.Sort(types[c.Name])
		own := slices.Compact(types[c.Name])
		out.Types[c.Name] = strings.Join(own, ",")
		if !slices.Contains(own, "vxlan") {
			continue
		}
		out.VXLAN = append(out.VXLAN, c)
		if len(own) == 1 {
			out.OnlyVXLAN = append(out.OnlyVXLAN, c)
		}
	}
	return out
}

// KnowsVXLANMode reports whether an internal version of ovn-northd ("24.09.1-20.37.0-78.8")
// is 24.09 or later.
func KnowsVXLANMode(version string) bool {
	year, rest, _ := strings.Cut(version, ".")
	month, _, _ := strings.Cut(rest, ".")
	y, err := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	return err == nil && err2 == nil && (y > 24 || y == 24 && m >= 9)
}

// IsTunnel reports whether OVN creates tunnels of an interface type.
func IsTunnel(kind string) bool { return kind == "geneve" || kind == "vxlan" || kind == "stt" }

// TunnelChassis returns the chassis that ovn-controller created a tunnel to; empty if another manager created it.
func TunnelChassis(p snapshot.BridgeInterface) string {
	id := p.Port.ExternalIDs["ovn-chassis-id"]
	if id == "" {
		id = p.ExternalIDs["ovn-chassis-id"]
	}
	chassis, _, _ := strings.Cut(id, "@")
	return chassis
}

// SameTunnel reports whether two interfaces request the same tunnel, which Open vSwitch can create only once.
func SameTunnel(a, b snapshot.BridgeInterface) bool {
	if a.Type != b.Type || a.Name == b.Name {
		return false
	}
	for _, key := range []string{"remote_ip", "local_ip", "key", "in_key", "out_key", "dst_port"} {
		if a.Options[key] != b.Options[key] {
			return false
		}
	}
	return true
}

// GivenUp reports whether Open vSwitch refused a tunnel for one that is gone. ovs-vswitchd gives a deleted tunnel up only
// after it has made the new ones of the same change, and then does not try again: what replaces a tunnel to the same
// address in one transaction fails with "File exists" until the configuration changes.
func GivenUp(s *snapshot.Switch, t snapshot.BridgeInterface) bool {
	return IsTunnel(t.Type) && t.OFNumber() == 0 && strings.Contains(t.Error.Get(), "File exists") &&
		!slices.ContainsFunc(s.BridgeInterfaces(), func(o snapshot.BridgeInterface) bool { return SameTunnel(o, t) })
}

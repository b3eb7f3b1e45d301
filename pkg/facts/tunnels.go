package facts

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// IsTunnel reports whether OVN creates tunnels of an interface type.
func IsTunnel(kind string) bool { return kind == "geneve" || kind == "vxlan" || kind == "stt" }

// TunnelChassis is the chassis that ovn-controller created a tunnel to; empty: another
// manager created it.
func TunnelChassis(p snapshot.BridgeInterface) string {
	id := p.Port.ExternalIDs["ovn-chassis-id"]
	if id == "" {
		id = p.ExternalIDs["ovn-chassis-id"]
	}
	chassis, _, _ := strings.Cut(id, "@")
	return chassis
}

// SameTunnel reports whether two interfaces ask for the same tunnel, of which Open
// vSwitch can create only one.
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

package topology

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// portFacts holds database values of a port that the document shows in another form.
type portFacts struct {
	nbUp      ovsdb.Set[bool] // Logical_Switch_Port.up
	sbUp      ovsdb.Set[bool] // Port_Binding.up
	bound     bool            // it has a Port_Binding
	peerName  string
	requested []string // as written: names or hostnames of chassis
	prefixes  []netip.Prefix
}

// Label returns the display name of the port: its pod, the CMS's name for it, else its own.
func (p *Port) Label() string {
	return cmp.Or(p.Pod, p.DisplayName, p.Name)
}

// Called returns what users call the port where its name in OVN says little: the CMS's name for it, or for a pod's port on
// a network that is not the default one POD@NETWORK; else its name.
func (p *Port) Called() string {
	if p.Pod != "" && p.Network() != defaultNetwork {
		return p.Pod + "@" + p.Network()
	}
	return cmp.Or(p.DisplayName, p.Name)
}

// SecurityGroups returns the security groups of the port: Neutron's by UUID, Kube-OVN's by name.
func (p *Port) SecurityGroups() []string {
	return append(strings.Fields(p.ExternalIDs["neutron:security_group_ids"]), names(p.ExternalIDs["security_groups"])...)
}

// Up returns the port's state as reported by Northbound and Southbound; ok is false if neither reports it.
func (p *Port) Up() (up, ok bool) {
	for _, s := range []ovsdb.Set[bool]{p.sbUp, p.nbUp} {
		if len(s) > 0 {
			return s[0], true
		}
	}
	return false, false
}

// datapath returns the UUID of p's switch or router.
func (p *Port) datapath() string {
	switch {
	case p.Switch != nil:
		return p.Switch.UUID
	case p.Router != nil:
		return p.Router.UUID
	}
	return ""
}

// Prefixes returns the networks of a router port.
func (p *Port) Prefixes() []netip.Prefix { return p.prefixes }

func prefixesOf(networks []string) []netip.Prefix {
	var out []netip.Prefix
	for _, n := range networks {
		if prefix, err := netip.ParsePrefix(n); err == nil {
			out = append(out, prefix)
		}
	}
	return out
}

func (p *Port) addrs() []netip.Addr {
	var out []netip.Addr
	for _, text := range p.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// addAddresses parses an addresses column, or Port_Binding.mac: "MAC [IP…]", "unknown", "router", "dynamic",
// "is_chassis_resident(…)".
func (p *Port) addAddresses(column []string) {
	for _, entry := range column {
		for word := range strings.FieldsSeq(entry) {
			if isMAC(word) {
				p.MACs = addUnique(p.MACs, strings.ToLower(word))
			} else if a, ok := parseAddr(word); ok {
				p.Addresses = addUnique(p.Addresses, a.String())
			}
			p.UnknownAddresses = p.UnknownAddresses || word == "unknown"
		}
	}
	slices.SortStableFunc(p.Addresses, compareAddresses)
}

// compareAddresses sorts IPv4 before IPv6 and otherwise keeps the database's order.
func compareAddresses(a, b string) int {
	return compareBools(strings.Contains(a, ":"), strings.Contains(b, ":"))
}

func addUnique(s []string, v string) []string {
	if slices.Contains(s, v) {
		return s
	}
	return append(s, v)
}

// parseAddr parses an address, with or without a prefix length.
func parseAddr(word string) (netip.Addr, bool) {
	if strings.Contains(word, "/") {
		prefix, err := netip.ParsePrefix(word)
		return prefix.Addr(), err == nil
	}
	a, err := netip.ParseAddr(word)
	return a, err == nil && a.Zone() == ""
}

// isMAC reports whether word is six colon-separated pairs of hex digits.
func isMAC(word string) bool {
	if len(word) != 17 {
		return false
	}
	for i := range len(word) {
		c := word[i] | 0x20
		if i%3 == 2 {
			if word[i] != ':' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// linkLocal returns the IPv6 link-local address that a router derives from its MAC (RFC 4291, appendix A); empty if
// it has none.
func linkLocal(mac string) string {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return ""
	}
	return netip.AddrFrom16([16]byte{
		0: 0xfe, 1: 0x80,
		8: hw[0] ^ 2, 9: hw[1], 10: hw[2], 11: 0xff, 12: 0xfe, 13: hw[3], 14: hw[4], 15: hw[5],
	}).String()
}

// owner sets the pod or VM of the port from external_ids.
func (p *Port) owner(ids map[string]string) {
	p.ExternalIDs = secret.Map(ids)
	p.DisplayName = cmp.Or(ids["neutron:port_name"], networkName(p.Name, ids))
	p.Device = ids["neutron:device_id"]
	p.Pod = podOf(p.Name, ids)
}

// defaultNetwork is the name of the network on which every pod of OVN-Kubernetes and Kube-OVN has a port.
const defaultNetwork = "default"

// IsVM reports whether p is a virtual machine's: Neutron writes a device for the ports of routers and of its own
// services, too.
func (p *Port) IsVM() bool {
	return p.Device != "" && p.Type != "router" && p.Type != "localport" && !strings.HasPrefix(p.ExternalIDs["neutron:device_owner"], "network:")
}

// Network returns the network of a pod's port by its user's name: NAMESPACE/NAME of the NetworkAttachmentDefinition,
// or default.
func (p *Port) Network() string {
	if pod := p.ExternalIDs["pod"]; strings.Contains(pod, "/") { // Kube-OVN: POD.NAMESPACE.PROVIDER
		ns, name, _ := strings.Cut(pod, "/")
		if provider, ok := strings.CutPrefix(p.Name, name+"."+ns+"."); ok {
			return provider
		}
	}
	return cmp.Or(p.ExternalIDs["k8s.ovn.org/nad"], defaultNetwork)
}

// podOf returns NAMESPACE/NAME of a port's pod. OVN-Kubernetes marks ports pod=true and names them NAMESPACE_POD;
// Kube-OVN writes NAMESPACE/POD into pod and names them POD.NAMESPACE.
func podOf(port string, ids map[string]string) string {
	pod, ns := ids["pod"], ids["namespace"]
	switch {
	case strings.Contains(pod, "/"):
		return pod
	case pod == "true" && ns != "":
		if i := strings.Index(port, ns+"_"); i >= 0 { // ports on secondary networks have a prefix
			return ns + "/" + port[i+len(ns)+1:]
		}
	}
	return ""
}

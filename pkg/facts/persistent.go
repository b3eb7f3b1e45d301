package facts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Persistent is a link's network configuration at boot, from one file of the host.
type Persistent struct {
	Link      string
	Tool      string // "netplan", "NetworkManager", "systemd-networkd", "ifupdown", "network-scripts"
	File      string
	Line      int            // of the link's addresses
	Addresses []netip.Prefix // static ones
	Gateways  []netip.Addr   // of default routes
	DHCP      bool           // of either family, or router advertisements
}

// String formats the location as compilers do.
func (p Persistent) String() string {
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Gives reports whether it assigns addresses to the link.
func (p Persistent) Gives() bool { return p.DHCP || len(p.Addresses) > 0 }

// persistentFiles are the patterns of boot network configuration files, with their tools and parsers.
var persistentFiles = []struct {
	tool    string
	pattern string
	read    func(file string, text []byte) []Persistent
}{
	{"netplan", "/etc/netplan/*.yaml", readNetplan},
	{"netplan", "/run/netplan/*.yaml", readNetplan},
	{"NetworkManager", "/etc/NetworkManager/system-connections/*", readKeyfile},
	{"NetworkManager", "/run/NetworkManager/system-connections/*", readKeyfile},
	{"systemd-networkd", "/etc/systemd/network/*.network", readNetworkd},
	{"systemd-networkd", "/run/systemd/network/*.network", readNetworkd},
	{"ifupdown", "/etc/network/interfaces", readInterfaces},
	{"ifupdown", "/etc/network/interfaces.d/*", readInterfaces},
	{"network-scripts", "/etc/sysconfig/network-scripts/ifcfg-*", readIfcfg},
}

// PersistentOf returns the host's network configuration at the next boot. What netplan generates for others is
// included once, from netplan's own file.
func PersistentOf(h *snapshot.Host) ([]Persistent, error) {
	return snapshot.Derive(h, "", func() ([]Persistent, error) {
		var all []Persistent
		for _, f := range persistentFiles {
			paths, err := h.Glob(f.pattern)
			if err != nil {
				return nil, err
			}
			for _, p := range paths {
				b, err := h.File(p)
				if errors.Is(err, fs.ErrNotExist) || len(b) == 0 || strings.Contains(path.Base(p), "netplan") && f.tool != "netplan" {
					continue
				}
				if err != nil {
					return nil, err
				}
				for _, e := range f.read(p, b) {
					e.Tool, e.File = f.tool, p
					all = append(all, e)
				}
			}
		}
		return slices.DeleteFunc(all, func(e Persistent) bool { return e.Link == "" }), nil
	})
}

func prefixes(words ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, w := range words {
		if p, err := netip.ParsePrefix(strings.TrimSpace(w)); err == nil {
			list = append(list, p)
		}
	}
	return list
}

func readNetplan(_ string, text []byte) []Persistent {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	network := member(doc.Content[0], "network")
	var all []Persistent
	for _, kind := range []string{"ethernets", "bonds", "bridges", "vlans"} {
		group := member(network, kind)
		for i := 0; group != nil && i+1 < len(group.Content); i += 2 {
			all = append(all, netplanLink(group.Content[i], group.Content[i+1]))
		}
	}
	return all
}

// netplanLink parses netplan's configuration of one link.
func netplanLink(name, body *yaml.Node) Persistent {
	p := Persistent{Link: name.Value, Line: name.Line}
	if set := cmp.Or(member(body, "set-name"), member(member(body, "match"), "name")); set != nil {
		p.Link = set.Value
	}
	if a := member(body, "addresses"); a != nil {
		p.Line = a.Line
		for _, x := range a.Content {
			if x.Kind == yaml.MappingNode && len(x.Content) > 0 {
				x = x.Content[0]
			}
			p.Addresses = append(p.Addresses, prefixes(x.Value)...)
		}
	}
	for _, key := range []string{"dhcp4", "dhcp6"} {
		if d := member(body, key); d != nil && slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(d.Value)) {
			p.DHCP, p.Line = true, d.Line
		}
	}
	for _, key := range []string{"gateway4", "gateway6"} {
		if g := member(body, key); g != nil {
			p.gateway(g.Value)
		}
	}
	routes := cmp.Or(member(body, "routes"), &yaml.Node{})
	for _, r := range routes.Content {
		to, via := member(r, "to"), member(r, "via")
		if to != nil && via != nil && slices.Contains([]string{"default", "0.0.0.0/0", "::/0"}, to.Value) {
			p.gateway(via.Value)
		}
	}
	return p
}

// member returns the value of a mapping's key, nil if none.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func (p *Persistent) gateway(text string) {
	if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
		p.Gateways = append(p.Gateways, a)
	}
}

// A setting is a line of an INI file.
type setting struct {
	section, key, value string
	line                int
}

func settings(text []byte) []setting {
	var all []setting
	section, line := "", 0
	for l := range strings.Lines(string(text)) {
		line++
		l = strings.TrimSpace(l)
		switch key, value, ok := strings.Cut(l, "="); {
		case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, ";"):
		case strings.HasPrefix(l, "["):
			section = strings.Trim(l, "[]")
		case ok:
			all = append(all, setting{section, strings.TrimSpace(key), strings.TrimSpace(value), line})
		}
	}
	return all
}

func readKeyfile(_ string, text []byte) []Persistent {
	var p Persistent
	for _, s := range settings(text) {
		switch {
		case s.section == "connection" && s.key == "type" && strings.HasPrefix(s.value, "ovs-"):
			return nil // an OVS port of NetworkManager: its bridge has the addresses
		case s.section == "connection" && s.key == "interface-name":
			p.Link = s.value
		case s.section != "ipv4" && s.section != "ipv6":
		case s.key == "method" && s.value == "auto" && s.section == "ipv4":
			p.DHCP, p.Line = true, s.line
		case strings.HasPrefix(s.key, "address"):
			words := strings.Split(s.value, ",")
			p.Addresses, p.Line = append(p.Addresses, prefixes(words[0])...), s.line
			if len(words) > 1 {
				p.gateway(words[1])
			}
		case s.key == "gateway":
			p.gateway(s.value)
		}
	}
	return []Persistent{p}
}

func readNetworkd(_ string, text []byte) []Persistent {
	var p Persistent
	for _, s := range settings(text) {
		switch s.section + "." + s.key {
		case "Match.Name":
			p.Link = s.value
		case "Network.Address", "Address.Address":
			p.Addresses, p.Line = append(p.Addresses, prefixes(s.value)...), s.line
		case "Network.DHCP":
			if s.value != "no" && s.value != "false" {
				p.DHCP, p.Line = true, s.line
			}
		case "Network.Gateway", "Route.Gateway":
			p.gateway(s.value)
		}
	}
	return []Persistent{p}
}

func readInterfaces(_ string, text []byte) []Persistent {
	var all []Persistent
	var mask, address string
	line := 0
	finish := func() {
		if len(all) == 0 || address == "" {
			return
		}
		p := &all[len(all)-1]
		if !strings.Contains(address, "/") {
			bits := maskBits(mask)
			if bits < 0 {
				address = ""
				return
			}
			address += "/" + strconv.Itoa(bits)
		}
		p.Addresses = append(p.Addresses, prefixes(address)...)
		address, mask = "", ""
	}
	for l := range strings.Lines(string(text)) {
		line++
		f := strings.Fields(l)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		switch f[0] {
		case "iface":
			finish()
			p := Persistent{Link: f[1], Line: line}
			p.DHCP = len(f) > 3 && (f[3] == "dhcp" || f[2] == "inet6" && f[3] == "auto")
			all = append(all, p)
		case "address":
			if len(all) > 0 {
				all[len(all)-1].Line = line
			}
			address = f[1]
		case "netmask":
			mask = f[1]
		case "gateway":
			if len(all) > 0 {
				all[len(all)-1].gateway(f[1])
			}
		case "auto", "allow-hotplug", "mapping", "source", "source-directory":
			finish()
		}
	}
	finish()
	return all
}

// maskBits returns the length of a netmask, given as a mask or a number; -1 if neither.
func maskBits(mask string) int {
	if n, err := strconv.Atoi(mask); err == nil {
		return n
	}
	a, err := netip.ParseAddr(mask)
	if err != nil {
		return -1
	}
	bits := 0
	for _, b := range a.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return bits
}

func readIfcfg(file string, text []byte) []Persistent {
	p := Persistent{Link: strings.TrimPrefix(path.Base(file), "ifcfg-")}
	values := map[string]setting{}
	for _, s := range settings(text) {
		s.value = strings.Trim(s.value, `"'`)
		values[s.key] = s
	}
	if d := values["DEVICE"]; d.value != "" {
		p.Link = d.value
	}
	if strings.HasPrefix(strings.ToUpper(values["TYPE"].value), "OVS") || p.Link == "lo" {
		return nil
	}
	if b := values["BOOTPROTO"]; strings.EqualFold(b.value, "dhcp") {
		p.DHCP, p.Line = true, b.line
	}
	for _, n := range []string{"", "0", "1", "2", "3"} {
		ip := values["IPADDR"+n]
		bits := values["PREFIX"+n].value
		if bits == "" {
			bits = strconv.Itoa(maskBits(values["NETMASK"+n].value))
		}
		if list := prefixes(ip.value + "/" + bits); list != nil {
			p.Addresses, p.Line = append(p.Addresses, list...), ip.line
		}
	}
	if ip := values["IPV6ADDR"]; ip.value != "" {
		p.Addresses, p.Line = append(p.Addresses, prefixes(ip.value)...), ip.line
	}
	p.gateway(values["GATEWAY"].value)
	p.gateway(values["IPV6_DEFAULTGW"].value)
	return []Persistent{p}
}

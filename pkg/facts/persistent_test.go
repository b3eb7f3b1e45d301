package facts

import (
	"fmt"
	"strings"
	"testing"
)

// What gives a link its addresses at boot is found in the files of every tool,
// with the line that does it.
func TestPersistentFiles(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want string
		read                   func(string, []byte) []Persistent
	}{
		{"netplan", "50-cloud-init.yaml", "network:\n  ethernets:\n    eth0:\n      addresses:\n        - 172.30.0.11/24\n        - \"fd00::11/64\": {lifetime: 0}\n      routes:\n        - {to: default, via: 172.30.0.1}\n        - {to: 10.0.0.0/8, via: 172.30.0.9}\n",
			"eth0 line 5 [172.30.0.11/24 fd00::11/64] [172.30.0.1] dhcp false", readNetplan},
		{"netplan by name", "a.yaml", "network: {ethernets: {card: {match: {name: ens3}, set-name: eth0, dhcp4: yes}}}", "eth0 line 1 [] [] dhcp true", readNetplan},
		{"netplan broken", "a.yaml", "network: [\n", "", readNetplan},
		{"NetworkManager", "eth0.nmconnection", "[connection]\ninterface-name=eth0\ntype=ethernet\n[ipv4]\nmethod=manual\naddress1=172.30.0.11/24,172.30.0.1\n",
			"eth0 line 6 [172.30.0.11/24] [172.30.0.1] dhcp false", readKeyfile},
		{"NetworkManager, DHCP", "eth0", "[connection]\ninterface-name=eth0\n[ipv4]\nmethod=auto\n", "eth0 line 4 [] [] dhcp true", readKeyfile},
		{"NetworkManager, an OVS port", "x", "[connection]\ntype=ovs-port\ninterface-name=eth0\n[ipv4]\nmethod=auto\n", "", readKeyfile},
		{"networkd", "10.network", "[Match]\nName=eth0\n\n# fixed\n[Network]\nAddress=172.30.0.11/24\nGateway=172.30.0.1\n", "eth0 line 6 [172.30.0.11/24] [172.30.0.1] dhcp false", readNetworkd},
		{"ifupdown", "interfaces", "auto lo\niface lo inet loopback\nauto eth0\niface eth0 inet static\n  address 172.30.0.11\n  netmask 255.255.255.0\n  gateway 172.30.0.1\n",
			"lo line 2 [] [] dhcp false; eth0 line 5 [172.30.0.11/24] [172.30.0.1] dhcp false", readInterfaces},
		{"ifupdown, DHCP", "interfaces", "iface eth0 inet dhcp\n", "eth0 line 1 [] [] dhcp true", readInterfaces},
		{"network-scripts", "/x/ifcfg-eth0", "DEVICE=eth0\nBOOTPROTO=none\nIPADDR=\"172.30.0.11\"\nPREFIX=24\nGATEWAY=172.30.0.1\n", "eth0 line 3 [172.30.0.11/24] [172.30.0.1] dhcp false", readIfcfg},
		{"network-scripts, a mask", "/x/ifcfg-eth1", "IPADDR=10.1.2.3\nNETMASK=255.255.240.0\n", "eth1 line 1 [10.1.2.3/20] [] dhcp false", readIfcfg},
		{"network-scripts, an OVS port", "/x/ifcfg-eth0", "DEVICE=eth0\nTYPE=OVSPort\nBOOTPROTO=dhcp\n", "", readIfcfg},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range c.read(c.file, []byte(c.text)) {
				got = append(got, fmt.Sprintf("%s line %d %v %v dhcp %v", p.Link, p.Line, p.Addresses, p.Gateways, p.DHCP))
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

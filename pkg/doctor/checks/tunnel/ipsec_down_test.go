package tunnel

import "testing"

// What ovs-monitor-ipsec prints: one tunnel that works, one whose key exchange failed, one that it does not take.
const tunnelsShown = `Interface name: ovn-node2-0 v3 (CONFIGURED)
  Tunnel Type:    geneve
  Local IP:       172.30.0.11
  Remote IP:      172.30.0.12
  Use SSL cert:   True
  Local Name:     node1
  Remote Name:    node2
  Ofport:         2
  CFM state:      Disabled
Kernel policies installed:
  src 172.30.0.11/32 dst 172.30.0.12/32 proto udp dport 6081
Kernel security associations installed:
  sel src 172.30.0.11/32 dst 172.30.0.12/32 proto udp dport 6081
IPsec connections that are active:

Interface name: ovn-node3-0 v1 (CONFIGURED)
  Tunnel Type:    geneve
  Remote IP:      172.30.0.13
Kernel policies installed:
  src 172.30.0.11/32 dst 172.30.0.13/32 proto udp dport 6081
Kernel security associations installed:
IPsec connections that are active:

Interface name: ovn-node4-0 v1 (INVALID: must set 'ca_cert' as PKI)
  Tunnel Type:    geneve
Kernel policies installed:
Kernel security associations installed:
IPsec connections that are active:
`

func TestIPsecStates(t *testing.T) {
	states := ipsecStates(tunnelsShown)
	for name, want := range map[string]bool{"ovn-node2-0": true, "ovn-node3-0": false, "ovn-node4-0": false} {
		if got := states[name]; !got.shown || got.associated != want {
			t.Errorf("%s: %+v, want an association: %t", name, got, want)
		}
	}
	if states["ovn-node4-0"].fault == "" || states["ovn-node3-0"].fault != "" {
		t.Errorf("%+v", states)
	}
	if len(ipsecStates("No tunnels configured with IPsec")) != 0 {
		t.Error("tunnels where there are none")
	}
}

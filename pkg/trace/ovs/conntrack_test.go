package ovs_test

import (
	"net/netip"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

func tuple(src, dst string) packet.Tuple {
	s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	return packet.Tuple{Proto: 6, Src: s.Addr(), SrcPort: s.Port(), Dst: d.Addr(), DstPort: d.Port()}
}

const (
	isNew       = packet.CTTracked | packet.CTNew
	established = packet.CTTracked | packet.CTEstablished
	reply       = established | packet.CTReply
	invalid     = packet.CTTracked | packet.CTInvalid
)

var zone = ovs.Zone{Node: "node1", ID: 7}

func look(t *testing.T, ct *ovs.Conntrack, z ovs.Zone, p packet.Tuple, nat, tcpReply bool, state uint32, now packet.Tuple) {
	t.Helper()
	got := ct.Look(z, p, nat, tcpReply)
	if got.State != state || got.Now != now {
		t.Errorf("%v nat=%v: state %08b now %v, want %08b %v", p, nat, got.State, got.Now, state, now)
	}
}

// TestConntrackStates follows a connection from its first packet on.
func TestConntrackStates(t *testing.T) {
	for _, ends := range [][2]string{{"10.0.0.1:1000", "10.0.0.2:80"}, {"[fd00::1]:1000", "[fd00::2]:80"}} {
		ct := &ovs.Conntrack{}
		p := tuple(ends[0], ends[1])
		look(t, ct, zone, p, false, false, isNew, p)
		look(t, ct, zone, p.Reverse(), false, true, invalid, p.Reverse()) // not committed: its SYN and ACK answers nothing
		c := ct.Commit(zone, p, p)
		if again := ct.Commit(zone, p, tuple("1.1.1.1:1", ends[1])); again != c {
			t.Error("a second commit made a second connection")
		}
		look(t, ct, zone, p, false, false, isNew, p)
		look(t, ct, zone, p.Reverse(), false, true, reply, p.Reverse())
		look(t, ct, zone, p, false, false, established, p) // it was answered meanwhile
		other := zone
		other.ID++
		look(t, ct, other, p, false, false, isNew, p)
		look(t, ct, ovs.Zone{Node: "node1", Host: true}, p, false, false, isNew, p)
		look(t, ct, ovs.Zone{Node: "node2", ID: zone.ID}, p.Reverse(), false, true, invalid, p.Reverse())
		udp := p
		udp.Proto = 17
		look(t, ct, zone, udp, false, false, isNew, udp)
	}
}

// TestConntrackNAT translates both directions, and only where the action asks for it.
func TestConntrackNAT(t *testing.T) {
	tests := []struct {
		name          string
		packet, now   packet.Tuple
		there, back   uint32
		answer, reads packet.Tuple // the answer as it comes, and as it leaves
	}{
		{"destination", tuple("10.0.0.1:1000", "10.96.0.1:80"), tuple("10.0.0.1:1000", "10.0.0.2:8080"),
			packet.CTDestinationNAT, packet.CTSourceNAT, tuple("10.0.0.2:8080", "10.0.0.1:1000"), tuple("10.96.0.1:80", "10.0.0.1:1000")},
		{"source", tuple("10.0.0.1:1000", "8.8.8.8:53"), tuple("192.0.2.1:1000", "8.8.8.8:53"),
			packet.CTSourceNAT, packet.CTDestinationNAT, tuple("8.8.8.8:53", "192.0.2.1:1000"), tuple("8.8.8.8:53", "10.0.0.1:1000")},
		{"both, as a hairpin", tuple("[fd00::1]:1000", "[fd00:96::1]:80"), tuple("[fd69::5]:1000", "[fd00::1]:8080"),
			packet.CTSourceNAT | packet.CTDestinationNAT, packet.CTSourceNAT | packet.CTDestinationNAT,
			tuple("[fd00::1]:8080", "[fd69::5]:1000"), tuple("[fd00:96::1]:80", "[fd00::1]:1000")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ct := &ovs.Conntrack{}
			ct.Commit(zone, test.packet, test.now)
			look(t, ct, zone, test.packet, false, false, isNew, test.packet)
			look(t, ct, zone, test.packet, true, false, isNew|test.there, test.now)
			look(t, ct, zone, test.answer, false, false, reply, test.answer)
			look(t, ct, zone, test.answer, true, false, reply|test.back, test.reads)
		})
	}
}

package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A map keeps to its width and its frames are closed, however its objects are called.
func TestTopologyMap(t *testing.T) {
	for _, called := range []string{"node", "\x1b[2J\u202e<script>", strings.Repeat("w", 4000), "駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅駅", ""} {
		net := &topology.Topology{
			Switches: []*topology.Switch{{UUID: "s", Name: called, Subnets: []string{called}}},
			Routers:  []*topology.Router{{UUID: "r", Name: called}},
			Tunnels:  []*topology.Tunnel{{Chassis: []string{"0", "1"}, Types: []string{"geneve"}, State: topology.StateDown, Why: called}},
		}
		for i := range 3 {
			id := fmt.Sprint(i)
			net.Chassis = append(net.Chassis, &topology.Chassis{UUID: id, Name: id, Hostname: called + id, Node: id, Encaps: []topology.Encap{{Type: "geneve", IP: called}}})
			net.Ports = append(net.Ports, &topology.Port{UUID: "p" + id, Name: called, Kind: topology.SwitchPort, Switch: &topology.Ref{UUID: "s", Name: called}, Chassis: id, State: topology.StateDown, Reason: called})
			net.Bridges = append(net.Bridges, &topology.Bridge{UUID: "b" + id, Name: called, Node: id, Networks: []string{"n"}, Uplinks: []string{called, called}[:i]})
		}
		for _, s := range []Style{{Width: 20}, {Width: 61}, {Width: 80}, {Width: 120}, {}, {ASCII: true}} {
			var out strings.Builder
			if err := TopologyMap(&out, s, net); err != nil {
				t.Fatal(err)
			}
			most := s.Width
			if most == 0 {
				most = mapWidth
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				frame := strings.ContainsAny(line, "│┌└") || s.ASCII && strings.HasPrefix(line, "|")
				if width(line) > most && most >= narrowestPlace && frame {
					t.Errorf("%+v: %d columns: %s", s, width(line), line)
				}
				if strings.HasPrefix(line, "│ ") && !strings.HasSuffix(line, "│") {
					t.Errorf("%+v: the frame is open: %s", s, line)
				}
				if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || s.ASCII && r > '~' }) {
					t.Errorf("%+v: %q", s, line)
				}
			}
		}
	}
}

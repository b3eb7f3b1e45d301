//go:build lab

package scale_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestStart lets ovn-trace(8) judge whether a deployment works.
func TestStart(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 3, Pods: 8, Services: 8, Policies: 1})
	open, denied := d.Pod(1, 7), d.Pod(1, 0) // the policy is for the first namespace
	backend := d.Pod(0, 4)                   // of service 6
	from := d.Pod(0, 7)
	packet := func(port, dst string) string {
		return `inport == "` + from.Port + `" && eth.src == ` + from.MAC + ` && eth.dst == 0a:58:0a:80:00:01 && ip4.src == ` + from.IPv4.String() +
			` && ip4.dst == ` + dst + ` && ip.ttl == 64 && tcp.src == 40000 && tcp.dst == ` + port
	}
	lb := "--lb-dst=" + backend.IPv4.String() + ":8080"
	tests := []struct {
		name, packet, want string
		options            []string
	}{
		{"another node", packet("8080", open.IPv4.String()), `output to "` + open.Port + `"`, nil},
		{"a service", packet("80", d.VIP(6).String()), `output to "` + backend.Port + `"`, []string{lb}},
		{"denied", packet("9090", denied.IPv4.String()), "drop;", nil},
		{"outside", packet("80", "203.0.113.10"), `output to "br-ex_` + from.Node + `"`, nil}, // the next hop is not resolved yet
	}
	for _, test := range tests {
		args := append([]string{"--db=" + d.SB.Remote(), "--ct=new", "--ct=new", "--ct=new", "--ct=new"}, test.options...)
		out := ovsdbtest.Run(t, "ovn-trace", append(args, from.Node, test.packet)...)
		if !strings.Contains(out, test.want) || test.name == "denied" && strings.Contains(out, denied.Port+`", type ""`) {
			t.Errorf("%s: ovn-trace does not say %q:\n%s", test.name, test.want, out)
		}
	}
	show := ovsdbtest.Run(t, "ovn-sbctl", "--db="+d.SB.Remote(), "show")
	if !strings.Contains(show, open.Port) {
		t.Errorf("%s is not bound:\n%s", open.Port, show)
	}
}

package host

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/node"
)

func TestDroppersNameThePort(t *testing.T) {
	chains := []node.Chain{
		{Family: "inet", Table: "filter", Name: "input", Type: "filter", Hook: "input", Policy: "drop", Rules: []node.FilterRule{
			{Text: "udp dport { 4789, 6081 } accept"},
		}},
		{Family: "ip", Table: "filter", Name: "INPUT", Type: "filter", Hook: "input", Policy: "accept", Legacy: true, Rules: []node.FilterRule{
			{Text: "-A INPUT -p udp -m udp --dport 60810 -j DROP"},
			{Text: "-A INPUT -p udp -m udp --dport 6081 -j DROP", Counted: true, Packets: 9},
		}},
		{Family: "inet", Table: "firewalld", Name: "filter_IN", Type: "filter", Hook: "input", Policy: "drop"},
		{Family: "inet", Table: "x", Name: "out", Type: "filter", Hook: "output", Policy: "drop"},
	}
	got := droppers("n1", chains, "6081", []string{"input"})
	if len(got) != 1 || got[0].chain != &chains[1] || !strings.HasSuffix(got[0].says, "-j DROP (9 packets)") {
		t.Errorf("6081: %+v", got)
	}
	got = droppers("n1", chains, "4789", []string{"input"})
	if len(got) != 1 || !got[0].firewalld() {
		t.Errorf("4789: %+v", got)
	}
}

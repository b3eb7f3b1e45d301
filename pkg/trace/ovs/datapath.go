package ovs

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// outputNumbers are the datapath ports that datapath actions send the packet itself to: the numbers that
// stand alone between commas (odp actions as ovs-dpctl(8) prints them).
func outputNumbers(actions string) []int {
	var numbers []int
	depth, start := 0, 0
	for i := 0; i <= len(actions); i++ {
		switch {
		case i == len(actions) || actions[i] == ',' && depth == 0:
			if n, err := strconv.Atoi(strings.TrimSpace(actions[start:i])); err == nil {
				numbers = append(numbers, n)
			}
			start = i + 1
		case actions[i] == '(':
			depth++
		case actions[i] == ')':
			depth--
		}
	}
	return numbers
}

// tunnelDestination is where a packet's own tunnel fields send it; the zero Addr if nowhere.
func tunnelDestination(p *packet.Flow) netip.Addr {
	for _, name := range []string{"tun_dst", "tun_ipv6_dst"} {
		if a := p.Addr(packet.MustField(name)); !a.IsUnspecified() {
			return a
		}
	}
	return netip.Addr{}
}

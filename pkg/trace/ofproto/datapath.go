package ofproto

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
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

// A datapathPort is a port as dpif/show lists it, with both of its numbers.
type datapathPort struct {
	bridge, name string
	openflow     uint32
	datapath     int
}

// parseDpifShow reads the reply of dpif/show: a line for each datapath, bridge and port, each indented
// below the other. Ports without a datapath number, which are patch ports, are left out.
func parseDpifShow(text string) []datapathPort {
	var ports []datapathPort
	bridge := ""
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		name, rest, ok := strings.Cut(strings.TrimRight(body, "\n"), " ")
		switch len(line) - len(body) {
		case 2:
			bridge = strings.TrimSuffix(name, ":")
		case 4:
			numbers, _, _ := strings.Cut(rest, ":")
			of, dp, both := strings.Cut(numbers, "/")
			ofport, err1 := strconv.ParseUint(of, 10, 16)
			datapath, err2 := strconv.Atoi(dp)
			if ok && both && err1 == nil && err2 == nil {
				ports = append(ports, datapathPort{bridge, name, uint32(ofport), datapath})
			}
		}
	}
	return ports
}

// tunnelDestination is where a packet's own tunnel fields send it.
func tunnelDestination(p *flow.Flow) netip.Addr {
	if p.Uint("tun_dst") != 0 {
		return address(p, "tun_dst", 4)
	}
	if a := address(p, "tun_ipv6_dst", 16); !a.IsUnspecified() {
		return a
	}
	return netip.Addr{}
}

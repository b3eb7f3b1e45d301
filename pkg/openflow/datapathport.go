package openflow

import (
	"strconv"
	"strings"
)

// A DatapathPort is a port of a bridge with both of its numbers, as dpif/show lists it
// (ovs-vswitchd(8)).
type DatapathPort struct {
	Bridge, Name string
	OpenFlow     uint32
	Datapath     uint32
	Type         string // "geneve", "internal", "tap", "system"
}

// ParseDatapathPorts reads the reply of dpif/show: a line for each datapath, bridge and port, each
// indented below the other. Ports without a number in the datapath, which are patch ports, are left out.
func ParseDatapathPorts(text string) []DatapathPort {
	var ports []DatapathPort
	bridge := ""
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		name, rest, ok := strings.Cut(strings.TrimRight(body, "\r\n"), " ")
		switch len(line) - len(body) {
		case 2:
			bridge = strings.TrimSuffix(name, ":")
		case 4:
			numbers, kind, _ := strings.Cut(rest, ":")
			of, dp, both := strings.Cut(numbers, "/")
			number, err1 := strconv.ParseUint(of, 10, 32)
			datapath, err2 := strconv.ParseUint(dp, 10, 32)
			if !ok || !both || err1 != nil || err2 != nil {
				continue
			}
			kind, _, _ = strings.Cut(strings.TrimLeft(kind, " ("), ":")
			ports = append(ports, DatapathPort{bridge, name, uint32(number), uint32(datapath), strings.TrimRight(kind, ")")})
		}
	}
	return ports
}

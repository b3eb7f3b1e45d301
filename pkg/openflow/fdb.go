package openflow

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An FDBEntry says behind which port of a bridge a MAC address is: a line of
// ovs-appctl fdb/show (ovs-vswitchd(8)).
type FDBEntry struct {
	Port   packet.PortID
	VLAN   uint16
	MAC    string
	Age    int  // seconds since it was seen
	Static bool // entered by hand
}

// ParseFDBEntry reads a line of fdb/show.
func ParseFDBEntry(line string) (FDBEntry, error) {
	var e FDBEntry
	words := strings.Fields(line)
	if len(line) > maxMatch || len(words) != 4 {
		return e, &SyntaxError{Text: line, Msg: "port, VLAN, MAC and age expected"}
	}
	var err error
	if e.Port, err = packet.ParsePort(words[0]); err != nil {
		return e, in(within(err, 0), line)
	}
	if err = read(&e.VLAN, words[1], 0); err != nil {
		return e, in(err, line)
	}
	mac, ok := packet.ParseMAC(words[2])
	if e.MAC = words[2]; !ok || packet.MustField("eth_src").Print(mac) != e.MAC {
		return e, &SyntaxError{Text: line, Msg: "bad MAC address " + e.MAC}
	}
	if e.Static = words[3] == "static"; !e.Static {
		e.Age, err = atoi(words[3])
	}
	return e, in(err, line)
}

// String writes the line as fdb/show does.
func (e FDBEntry) String() string {
	age := "static"
	if !e.Static {
		age = fmt.Sprintf("%3d", e.Age)
	}
	return fmt.Sprintf("%5s  %4d  %s  %s", e.Port, e.VLAN, e.MAC, age)
}

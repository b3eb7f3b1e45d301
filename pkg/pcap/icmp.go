package pcap

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// icmp reads a message of RFC 792.
func (w *words) icmp(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	w.WriteString("ICMP ")
	switch b[0] {
	case 0:
		w.echo("reply", b)
	case 3:
		w.code("unreachable", b[1], "net", "host", "protocol", "port", "need to frag", "source route", "net unknown", "host unknown", "isolated",
			"net prohibited", "host prohibited", "net tos", "host tos", "admin prohibited")
	case 5:
		w.code("redirect", b[1], "net", "host", "tos net", "tos host")
	case 8:
		w.echo("request", b)
	case 11:
		w.code("time exceeded", b[1], "in-transit", "reassembly")
	case 12:
		w.WriteString("parameter problem, ")
	default:
		fmt.Fprintf(w, "type %d code %d, ", b[0], b[1])
	}
	return true
}

// icmp6 reads a message of RFC 4443, 4861 or 2710.
func (w *words) icmp6(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	w.WriteString("ICMP6 ")
	switch b[0] {
	case 1:
		w.code("unreachable", b[1], "no route", "admin prohibited", "beyond scope", "address", "port", "source policy", "route rejected")
	case 2:
		fmt.Fprintf(w, "packet too big, mtu %d, ", binary.BigEndian.Uint32(b[4:]))
	case 3:
		w.code("time exceeded", b[1], "in-transit", "reassembly")
	case 4:
		w.WriteString("parameter problem, ")
	case 128:
		w.echo("request", b)
	case 129:
		w.echo("reply", b)
	case 130, 131, 132, 143:
		w.WriteString("multicast listener, ")
	case 133:
		w.WriteString("router solicitation, ")
	case 134:
		w.WriteString("router advertisement, ")
	case 135:
		return w.neighbour("neighbor solicitation, who has", b)
	case 136:
		return w.neighbour("neighbor advertisement, tgt is", b)
	case 137:
		w.WriteString("redirect, ")
	default:
		fmt.Fprintf(w, "type %d code %d, ", b[0], b[1])
	}
	return true
}

func (w *words) echo(what string, b []byte) {
	fmt.Fprintf(w, "echo %s, id %d, seq %d, ", what, binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:]))
}

// code words a type with its code.
func (w *words) code(what string, code byte, names ...string) {
	if int(code) < len(names) {
		fmt.Fprintf(w, "%s (%s), ", what, names[code])
	} else {
		fmt.Fprintf(w, "%s (code %d), ", what, code)
	}
}

// neighbour words a message about an address.
func (w *words) neighbour(what string, b []byte) bool {
	if len(b) < 24 {
		return false
	}
	fmt.Fprintf(w, "%s %s, ", what, netip.AddrFrom16([16]byte(b[8:])))
	return true
}

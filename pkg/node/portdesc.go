package node

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// errOldOpenFlow is returned for bridges that speak no OpenFlow with a request for the ports; ovs-ofctl finds another way.
var errOldOpenFlow = errors.New("OpenFlow 1.2 or older")

// portDesc reads a bridge's ports as ovs-ofctl(8) dump-ports-desc prints them, without a process: that would take ten times as
// long.
func portDesc(ctx context.Context, socket, bridge string) (string, error) {
	return asked(ctx, socket, bridge, "port description request", func(c *openflow) (string, error) {
		if c.version < 4 {
			return "", errOldOpenFlow
		}
		c.xid++
		request := binary.BigEndian.AppendUint16(nil, ofpPortDesc)
		request = append(request, make([]byte, 6)...) // flags, padding
		if c.version >= 6 {
			request = append(request, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0) // OFPP_ANY, padding
		}
		if err := c.send(ofpMultipartRequest, request); err != nil {
			return "", err
		}
		var ports []ofpPort
		for more := true; more; {
			body, err := c.await(ofpMultipartReply, binary.BigEndian.AppendUint16(nil, ofpPortDesc))
			if err != nil {
				return "", err
			}
			if len(body) < 6 || len(ports) > mostPorts {
				return "", fmt.Errorf("port description reply of %d bytes after %d ports", len(body), len(ports))
			}
			more = binary.BigEndian.Uint16(body)&ofpMore != 0
			if ports, err = appendPorts(ports, c.version, body[6:]); err != nil {
				return "", err
			}
		}
		slices.SortFunc(ports, func(a, b ofpPort) int { return cmp.Compare(a.number, b.number) })
		var text strings.Builder
		fmt.Fprintf(&text, "OFPST_PORT_DESC reply (OF1.%d) (xid=%#x):\n", c.version-1, c.xid)
		for _, p := range ports {
			p.print(&text)
		}
		return text.String(), nil
	})
}

// An ofpPort is a port on the wire. Features are current, advertised, supported and the peer's; speeds are in kb/s.
type ofpPort struct {
	number, config, state uint32
	mac                   net.HardwareAddr
	name                  string
	features              [4]uint32
	speed, most           uint32
}

// mostPorts is more than a bridge can have.
const mostPorts = 1 << 16

// appendPorts reads an array of ofp_port: port (32 bits), in OpenFlow 1.4 its length (16), padding to 8 bytes, MAC address,
// padding to 16, name (16 bytes), config and state (32 bits each). Features and speeds follow, in OpenFlow 1.4 as the
// property 0, behind its type, length and padding.
func appendPorts(ports []ofpPort, version byte, b []byte) ([]ofpPort, error) {
	const head, features, property = 40, 24, 8
	for len(b) > 0 {
		length := head + features
		if version >= 5 && len(b) >= head {
			length = int(binary.BigEndian.Uint16(b[4:]))
		}
		if length < head || len(b) < length {
			return nil, fmt.Errorf("port of %d bytes in %d", length, len(b))
		}
		name, _, _ := bytes.Cut(b[16:32], []byte{0})
		p := ofpPort{
			number: binary.BigEndian.Uint32(b), mac: b[8:14], name: string(name),
			config: binary.BigEndian.Uint32(b[32:]), state: binary.BigEndian.Uint32(b[36:]),
		}
		rest := b[head:length]
		b = b[length:]
		if version < 5 {
			p.readFeatures(rest)
			rest = nil
		}
		for len(rest) > 0 {
			if len(rest) < property {
				return nil, fmt.Errorf("property of port %s of %d bytes", p.name, len(rest))
			}
			kind, length := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
			padded := (length + 7) / 8 * 8
			if length < property || padded > len(rest) {
				return nil, fmt.Errorf("property of port %s of %d bytes in %d", p.name, length, len(rest))
			}
			if kind == 0 && length >= property+features {
				p.readFeatures(rest[property:])
			}
			rest = rest[padded:]
		}
		ports = append(ports, p)
	}
	return ports, nil
}

func (p *ofpPort) readFeatures(b []byte) {
	for i := range p.features {
		p.features[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	p.speed, p.most = binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])
}

// The names of bits, the lowest first.
var (
	portConfigs  = []string{"PORT_DOWN", "", "NO_RECV", "", "", "NO_FWD", "NO_PACKET_IN"}
	portStates   = []string{"LINK_DOWN", "BLOCKED", "LIVE"}
	portFeatures = []string{
		"10MB-HD", "10MB-FD", "100MB-HD", "100MB-FD", "1GB-HD", "1GB-FD", "10GB-FD", "40GB-FD", "100GB-FD", "1TB-FD",
		"OTHER", "COPPER", "FIBER", "AUTO_NEG", "AUTO_PAUSE", "AUTO_PAUSE_ASYM",
	}
)

const localPort = 0xfffffffe

func (p *ofpPort) print(text *strings.Builder) {
	number := fmt.Sprint(p.number)
	if p.number == localPort {
		number = "LOCAL"
	}
	fmt.Fprintf(text, " %s(%s): addr:%s\n", number, p.name, p.mac)
	fmt.Fprintf(text, "     config:     %s\n     state:      %s\n", bitNames(p.config, portConfigs), bitNames(p.state, portStates))
	for i, key := range []string{"current:    ", "advertised: ", "supported:  ", "peer:       "} {
		if p.features[i] != 0 {
			fmt.Fprintf(text, "     %s%s\n", key, bitNames(p.features[i], portFeatures))
		}
	}
	fmt.Fprintf(text, "     speed: %d Mbps now, %d Mbps max\n", p.speed/1000, p.most/1000)
}

// bitNames lists the names of the bits that are set, and the rest as a number.
func bitNames(bits uint32, names []string) string {
	if bits == 0 {
		return "0"
	}
	var words []string
	for i, name := range names {
		if bits&(1<<i) != 0 && name != "" {
			words = append(words, name)
			bits &^= 1 << i
		}
	}
	if bits != 0 {
		words = append(words, fmt.Sprintf("%#x", bits))
	}
	return strings.Join(words, " ")
}

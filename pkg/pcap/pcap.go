// Package pcap reads packet captures, pcap and pcapng, and formats each packet as a line like those of tcpdump(8).
// The packet in a Geneve or VXLAN tunnel follows the tunnel's header and OVN's option. It needs no system library.
package pcap

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Magic is how many bytes [Is] needs.
const Magic = 4

// magics begin packet captures: pcapng, and pcap in either byte order with microseconds or nanoseconds.
var magics = [][]byte{{0x0a, 0x0d, 0x0d, 0x0a}, {0xa1, 0xb2, 0xc3, 0xd4}, {0xd4, 0xc3, 0xb2, 0xa1}, {0xa1, 0xb2, 0x3c, 0x4d}, {0x4d, 0x3c, 0xb2, 0xa1}}

// Is reports whether a file that begins so has packets.
func Is(begin []byte) bool {
	for _, m := range magics {
		if bytes.HasPrefix(begin, m) {
			return true
		}
	}
	return false
}

// A Reader reads the packets of a file.
type Reader struct {
	source interface {
		ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	link  layers.LinkType
	mixed bool // link types may vary by packet (pcapng)
}

// NewReader reads a file's header.
func NewReader(r io.Reader) (*Reader, error) {
	buffered := &head{r: r}
	begin, err := buffered.peek()
	if err != nil {
		return nil, err
	}
	if begin[0] == 0x0a {
		ng, err := pcapgo.NewNgReader(buffered, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, fmt.Errorf("pcapng: %w", err)
		}
		return &Reader{source: ng, link: ng.LinkType(), mixed: true}, nil
	}
	old, err := pcapgo.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("pcap: %w", err)
	}
	return &Reader{source: old, link: old.LinkType()}, nil
}

// head replays the bytes that were peeked at.
type head struct {
	r     io.Reader
	begin []byte
}

func (h *head) peek() ([]byte, error) {
	h.begin = make([]byte, Magic)
	_, err := io.ReadFull(h.r, h.begin)
	return h.begin, err
}

func (h *head) Read(p []byte) (int, error) {
	if len(h.begin) > 0 {
		n := copy(p, h.begin)
		h.begin = h.begin[n:]
		return n, nil
	}
	return h.r.Read(p)
}

// Next returns the next packet as a line; io.EOF after the last. A truncated file ends with another error.
func (r *Reader) Next() (line string, err error) {
	// The pcapng reader trusts a file's lengths too much.
	defer func() {
		if bad := recover(); bad != nil {
			err = fmt.Errorf("damaged from here on: %v", bad)
		}
	}()
	data, info, err := r.source.ReadPacketData()
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file is cut short")
		}
		return "", err
	}
	link := r.link
	if r.mixed && len(info.AncillaryData) > 0 {
		if t, ok := info.AncillaryData[0].(layers.LinkType); ok {
			link = t
		}
	}
	p := gopacket.NewPacket(data, link, gopacket.DecodeOptions{Lazy: false, NoCopy: true})
	return info.Timestamp.UTC().Format("2006-01-02T15:04:05.000000Z") + " " + text(p, info.Length), nil
}

// text formats a packet from the outside in.
func text(p gopacket.Packet, length int) string {
	var b strings.Builder
	src, dst := "", ""
	said := false
	for _, layer := range p.Layers() {
		switch l := layer.(type) {
		case *layers.Ethernet:
			if said { // the outer one is of no interest for tunnels
				fmt.Fprintf(&b, "%s > %s, ", l.SrcMAC, l.DstMAC)
			}
		case *layers.Dot1Q:
			fmt.Fprintf(&b, "vlan %d, ", l.VLANIdentifier)
		case *layers.IPv4:
			src, dst = l.SrcIP.String(), l.DstIP.String()
			if said {
				fmt.Fprintf(&b, "ttl %d, ", l.TTL)
			}
			if l.FragOffset != 0 || l.Flags&layers.IPv4MoreFragments != 0 {
				fmt.Fprintf(&b, "fragment at %d, ", int(l.FragOffset)*8)
			}
			b.WriteString("IP ")
		case *layers.IPv6:
			src, dst = l.SrcIP.String(), l.DstIP.String()
			if said {
				fmt.Fprintf(&b, "hlim %d, ", l.HopLimit)
			}
			b.WriteString("IP6 ")
		case *layers.UDP:
			fmt.Fprintf(&b, "%s.%d > %s.%d: ", src, l.SrcPort, dst, l.DstPort)
			if next := l.NextLayerType(); next != layers.LayerTypeGeneve && next != layers.LayerTypeVXLAN {
				b.WriteString("UDP, ")
			}
		case *layers.TCP:
			fmt.Fprintf(&b, "%s.%d > %s.%d: TCP, Flags [%s], seq %d, ack %d, ", src, l.SrcPort, dst, l.DstPort, tcpFlags(l), l.Seq, l.Ack)
		case *layers.SCTP:
			fmt.Fprintf(&b, "%s.%d > %s.%d: SCTP, ", src, l.SrcPort, dst, l.DstPort)
		case *layers.ICMPv4:
			fmt.Fprintf(&b, "%s > %s: ICMP %s, id %d, seq %d, ", src, dst, l.TypeCode, l.Id, l.Seq)
		case *layers.ICMPv6:
			fmt.Fprintf(&b, "%s > %s: ICMP6 %s, ", src, dst, l.TypeCode)
		case *layers.ARP:
			b.WriteString(arp(l))
		case *layers.Geneve:
			said = true
			b.WriteString(geneve(l))
		case *layers.VXLAN:
			said = true
			fmt.Fprintf(&b, "VXLAN, flags [I], vni %d: ", l.VNI)
		}
	}
	if e := p.ErrorLayer(); e != nil {
		b.WriteString("then unreadable data, ")
	}
	fmt.Fprintf(&b, "length %d", length)
	return b.String()
}

// geneve formats a tunnel header and its options, as tcpdump -v does.
func geneve(l *layers.Geneve) string {
	flags := ""
	if l.CriticalOption {
		flags += "C"
	}
	if l.OAMPacket {
		flags += "O"
	}
	s := fmt.Sprintf("Geneve, Flags [%s], vni 0x%x", orNone(flags), l.VNI)
	var options []string
	for _, o := range l.Options {
		name, critical := "", ""
		if o.Class == ovnClass {
			name = "Open Virtual Networking (OVN) "
		}
		if o.Type&0x80 != 0 {
			critical = "(C)"
		}
		options = append(options, fmt.Sprintf("class %s(0x%x) type 0x%x%s len %d data %s", name, o.Class, o.Type, critical, len(o.Data)+4, hex.EncodeToString(o.Data)))
	}
	if len(options) > 0 {
		s += ", options [" + strings.Join(options, ", ") + "]"
	}
	return s + ": "
}

// ovnClass is OVN's Geneve option class.
const ovnClass = 0x102

func arp(l *layers.ARP) string {
	if len(l.SourceProtAddress) != 4 || len(l.DstProtAddress) != 4 {
		return "ARP, "
	}
	ip := func(b []byte) string { return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3]) }
	if l.Operation == layers.ARPReply {
		return fmt.Sprintf("ARP, Reply %s is-at %x, ", ip(l.SourceProtAddress), l.SourceHwAddress)
	}
	return fmt.Sprintf("ARP, Request who-has %s tell %s, ", ip(l.DstProtAddress), ip(l.SourceProtAddress))
}

func tcpFlags(l *layers.TCP) string {
	var s string
	for _, f := range []struct {
		set  bool
		sign string
	}{{l.FIN, "F"}, {l.SYN, "S"}, {l.RST, "R"}, {l.PSH, "P"}, {l.ACK, "."}, {l.URG, "U"}, {l.ECE, "E"}, {l.CWR, "W"}} {
		if f.set {
			s += f.sign
		}
	}
	return orNone(s)
}

func orNone(flags string) string {
	if flags == "" {
		return "none"
	}
	return flags
}

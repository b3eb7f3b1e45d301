package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"strings"
	"time"
)

// OpenFlow numbers used here: message types of the header, and the Nicira extension that reports a switch's tunnel
// option table.
const (
	ofpHello        = 0
	ofpError        = 1
	ofpEchoRequest  = 2
	ofpEchoReply    = 3
	ofpExperimenter = 4

	ofpVersions = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 // OpenFlow 1.0 to 1.5

	nxVendor          = 0x00002320
	nxTLVTableRequest = 25
	nxTLVTableReply   = 26
)

// openflow is a connection to a bridge's management socket.
type openflow struct {
	conn    net.Conn
	version byte
	xid     uint32
}

// greet negotiates the highest version both sides speak.
func (c *openflow) greet() error {
	hello := binary.BigEndian.AppendUint16(nil, 1) // element: version bitmap
	hello = binary.BigEndian.AppendUint16(hello, 8)
	hello = binary.BigEndian.AppendUint32(hello, ofpVersions)
	if err := c.send(ofpHello, hello); err != nil {
		return err
	}
	version, kind, body, err := c.receive()
	if err != nil {
		return err
	}
	if kind != ofpHello {
		return fmt.Errorf("not an OpenFlow switch: first message has type %d", kind)
	}
	if c.version = commonVersion(version, body); c.version == 0 {
		return errors.New("no common OpenFlow version")
	}
	return nil
}

// commonVersion is the highest version that we share with the peer's HELLO.
func commonVersion(version byte, hello []byte) byte {
	if len(hello) >= 8 && binary.BigEndian.Uint16(hello) == 1 && binary.BigEndian.Uint16(hello[2:]) >= 8 {
		common := binary.BigEndian.Uint32(hello[4:]) & ofpVersions
		return byte(max(bits.Len32(common)-1, 0))
	}
	return min(version, 6)
}

func (c *openflow) send(kind byte, body []byte) error {
	msg := []byte{c.version, kind}
	msg = binary.BigEndian.AppendUint16(msg, uint16(8+len(body)))
	msg = binary.BigEndian.AppendUint32(msg, c.xid)
	_, err := c.conn.Write(append(msg, body...))
	return err
}

func (c *openflow) receive() (version, kind byte, body []byte, err error) {
	var h [8]byte
	if _, err := io.ReadFull(c.conn, h[:]); err != nil {
		return 0, 0, nil, err
	}
	n := int(binary.BigEndian.Uint16(h[2:]))
	if n < len(h) {
		return 0, 0, nil, fmt.Errorf("OpenFlow message of %d bytes", n)
	}
	body = make([]byte, n-len(h))
	_, err = io.ReadFull(c.conn, body)
	return h[0], h[1], body, err
}

// ask sends an experimenter request and waits for a reply of the subtype.
func (c *openflow) ask(request, reply uint32) ([]byte, error) {
	c.xid++
	body := binary.BigEndian.AppendUint32(nil, nxVendor)
	body = binary.BigEndian.AppendUint32(body, request)
	if err := c.send(ofpExperimenter, body); err != nil {
		return nil, err
	}
	for {
		_, kind, body, err := c.receive()
		switch {
		case err != nil:
			return nil, err
		case kind == ofpEchoRequest:
			if err := c.send(ofpEchoReply, body); err != nil {
				return nil, err
			}
		case kind == ofpError && len(body) >= 4:
			return nil, fmt.Errorf("the switch refuses the request (OpenFlow error type %d code %d)", binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:]))
		case kind == ofpExperimenter && len(body) >= 8 && binary.BigEndian.Uint32(body) == nxVendor && binary.BigEndian.Uint32(body[4:]) == reply:
			return body[8:], nil
		}
	}
}

// tlvMap reads a bridge's tunnel option table as ovs-ofctl(8) dump-tlv-map
// prints it.
func tlvMap(ctx context.Context, socket, bridge string) (string, error) {
	conn, err := dialUnix(ctx, socket)
	if err != nil {
		return "", fmt.Errorf("bridge %s: %w", bridge, silent(ctx, "OpenFlow hello", err))
	}
	defer conn.Close() //nolint:errcheck // only read
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := &openflow{conn: conn, version: 6, xid: 1}
	if err := c.greet(); err != nil {
		return "", fmt.Errorf("bridge %s: %w", bridge, silent(ctx, "OpenFlow hello", err))
	}
	body, err := c.ask(nxTLVTableRequest, nxTLVTableReply)
	if err != nil {
		return "", fmt.Errorf("bridge %s: %w", bridge, silent(ctx, "tlv table request", err))
	}
	return printTLVMap(c.version, c.xid, body)
}

// printTLVMap prints an nx_tlv_table_reply: option space (32 bits), number of fields (16), 10 reserved bytes, then
// 8 bytes per mapping: class (16), type (8), length (8), field (16), padding.
func printTLVMap(version byte, xid uint32, b []byte) (string, error) {
	const head, entry = 16, 8
	if len(b) < head || (len(b)-head)%entry != 0 {
		return "", fmt.Errorf("tlv table reply of %d bytes", len(b))
	}
	var s strings.Builder
	s.WriteString("NXT_TLV_TABLE_REPLY")
	if version > 1 {
		fmt.Fprintf(&s, " (OF1.%d)", version-1)
	}
	fmt.Fprintf(&s, " (xid=%#x):\n max option space=%d max fields=%d\n", xid, binary.BigEndian.Uint32(b), binary.BigEndian.Uint16(b[4:]))
	used, rows := 0, ""
	for b := b[head:]; len(b) > 0; b = b[entry:] {
		used += int(b[3])
		rows += fmt.Sprintf(" %6s  %4s  %6d  tun_metadata%d\n", hex(binary.BigEndian.Uint16(b)), hex(uint16(b[2])), b[3], binary.BigEndian.Uint16(b[4:]))
	}
	fmt.Fprintf(&s, " allocated option space=%d\n", used)
	s.WriteString("\n mapping table:\n  class  type  length  match field\n ------  ----  ------  --------------\n" + rows)
	return s.String(), nil
}

// hex is C's %#x: zero has no prefix.
func hex(n uint16) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}

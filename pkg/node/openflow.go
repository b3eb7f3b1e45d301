package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"time"
)

// OpenFlow numbers used here: message types of the header, the Nicira extension that reports a switch's tunnel option
// table, and the multipart request for the ports.
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

	ofpMultipartRequest = 18 // since OpenFlow 1.1
	ofpMultipartReply   = 19
	ofpPortDesc         = 13
	ofpMore             = 1 // a flag: the reply goes on in another message
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
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, nxVendor), reply)
	return c.await(ofpExperimenter, head)
}

// await returns what follows the head in the body of the next message of a kind, and answers echo requests meanwhile.
func (c *openflow) await(want byte, head []byte) ([]byte, error) {
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
		case kind == want && bytes.HasPrefix(body, head):
			return body[len(head):], nil
		}
	}
}

// asked opens a connection to a bridge's management socket for a question.
func asked(ctx context.Context, socket, bridge, what string, question func(*openflow) (string, error)) (string, error) {
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
	text, err := question(c)
	if err != nil {
		return "", fmt.Errorf("bridge %s: %w", bridge, silent(ctx, what, err))
	}
	return text, nil
}

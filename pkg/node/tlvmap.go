package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
)

// tlvMap reads a bridge's tunnel option table as ovs-ofctl(8) dump-tlv-map
// prints it.
func tlvMap(ctx context.Context, socket, bridge string) (string, error) {
	return asked(ctx, socket, bridge, "tlv table request", func(c *openflow) (string, error) {
		body, err := c.ask(nxTLVTableRequest, nxTLVTableReply)
		if err != nil {
			return "", err
		}
		return printTLVMap(c.version, c.xid, body)
	})
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

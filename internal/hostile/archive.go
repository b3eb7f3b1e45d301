package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Archive draws a tar archive, perhaps packed several times, with sparse files, links, names that lead out of it, names that
// come twice, wrong sizes and checksums, very many entries, or an end in its middle.
func Archive(draw *rand.Rand) []byte {
	text := tarball(draw, 2)
	for range draw.IntN(4) {
		text = packed(draw, text)
	}
	if sometimes(draw, 3) {
		text = damaged(draw, text)
	}
	return text
}

// packed is compressed, or says so.
func packed(draw *rand.Rand, text []byte) []byte {
	var out bytes.Buffer
	switch draw.IntN(8) {
	case 0: // a frame that asks for a window of terabytes
		return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8}, text...)
	case 1: // a frame that claims its content to be huge
		return append(binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 1<<60), text...)
	case 2: // magic bytes and nothing of what they promise
		return append([]byte(one(draw, "\x1f\x8b", "BZh9", "\xfd7zXZ\x00", "\x1f\x8b\x08\x1c")), text...)
	case 3, 4, 5:
		w := gzip.NewWriter(&out)
		_, _ = w.Write(text) // into memory
		_ = w.Close()
		if sometimes(draw, 3) { // and another member behind it
			w.Reset(&out)
			_, _ = w.Write(make([]byte, draw.IntN(4<<20)))
			_ = w.Close()
		}
	default:
		w, _ := zstd.NewWriter(&out) // no options that could be wrong
		_, _ = w.Write(text)
		_ = w.Close()
	}
	return out.Bytes()
}

// tarball has entries of all kinds; within some, other archives.
func tarball(draw *rand.Rand, depth int) []byte {
	var out []byte
	entries := draw.IntN(20)
	if sometimes(draw, 6) {
		entries = 1000 + draw.IntN(3000)
	}
	for range entries {
		body := []byte(one(draw, "", "x", "OVSDB JSON 2 00\n{}", strings.Repeat("\x00", draw.IntN(3000))))
		if entries < 100 && depth > 0 && sometimes(draw, 5) {
			body = tarball(draw, depth-1)
			for range draw.IntN(3) {
				body = packed(draw, body)
			}
		}
		out = append(out, entry(draw, body)...)
	}
	if sometimes(draw, 4) {
		return out // no end
	}
	return append(out, make([]byte, 1024)...)
}

// entry is one with its header, or several that belong together.
func entry(draw *rand.Rand, body []byte) []byte {
	name := one(draw, "nb.db", "sb.db", "a", "a/b", "node1/conf.db", "node1/", "../evil", "/etc/evil", "a/../../evil", "x.tar.gz", "./", ".", "..", "", "a\nb", "a\x1b[2J", "index.json",
		strings.Repeat("d/", draw.IntN(48))+"x", fmt.Sprintf("f%d", draw.IntN(1000)))
	kind := one[byte](draw, '0', '0', '0', 0, '1', '2', '3', '4', '5', '6', '7', 'g', 'x', 'L', 'K', 'S', 'V', 'M', byte(draw.Uint32()))
	link := one(draw, "nb.db", "a", "../../../etc/passwd", "/etc/shadow", name, "", strings.Repeat("l", 90))
	switch draw.IntN(10) {
	case 0: // records before a file: sparse, negative, huge, of themselves
		records := one(draw,
			record("GNU.sparse.major", "1")+record("GNU.sparse.minor", "0")+record("GNU.sparse.name", "nb.db")+record("GNU.sparse.realsize", number(draw)),
			record("GNU.sparse.map", "0,"+number(draw)+","+number(draw)+",1")+record("GNU.sparse.size", number(draw)),
			record("size", number(draw)), record("path", word(draw)), record("linkpath", word(draw)), record("mtime", number(draw)), number(draw)+" x=y\n", "1", record("path", strings.Repeat("p/", 3000)))
		return append(block(draw, "x", 'x', "", []byte(records)), block(draw, name, '0', "", []byte("1\n"+number(draw)+"\n0\n"+string(body)))...)
	case 1: // a name of its own entry
		return append(block(draw, "././@LongLink", one[byte](draw, 'L', 'K'), "", []byte(word(draw)+"\x00")), block(draw, name, kind, link, body)...)
	}
	return block(draw, name, kind, link, body)
}

func record(key, value string) string {
	text := " " + key + "=" + value + "\n"
	n := len(text) + 1
	for len(fmt.Sprint(n))+len(text) != n {
		n = len(fmt.Sprint(n)) + len(text)
	}
	return fmt.Sprint(n) + text
}

// block is a header and what belongs to it; one in some lies.
func block(draw *rand.Rand, name string, kind byte, link string, body []byte) []byte {
	h := make([]byte, 512, 512+len(body)+512)
	copy(h, name)
	copy(h[100:], "0000600\x00")
	size := fmt.Sprintf("%011o\x00", len(body))
	switch {
	case sometimes(draw, 30): // base 256, huge or negative
		size = string(append([]byte{one[byte](draw, 0x80, 0xff), 0, 0, 0}, binary.BigEndian.AppendUint64(nil, draw.Uint64())...))
	case sometimes(draw, 30):
		size = one(draw, "77777777777\x00", "-0000000001\x00", "            ", "99999999999\x00", "00000001000\x00")
	}
	copy(h[124:136], size)
	copy(h[136:], "00000000000\x00")
	h[156] = kind
	copy(h[157:257], link)
	copy(h[257:], one(draw, "ustar\x0000", "ustar  \x00"))
	copy(h[148:156], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	if sometimes(draw, 60) {
		sum++
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	h = append(h, body...)
	return append(h, make([]byte, (512-len(body)%512)%512)...)
}

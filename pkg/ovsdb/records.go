package ovsdb

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

var recordHeader = pattern.New(`^OVSDB (JSON|CLUSTER) (\d+) ([0-9a-f]{40})\n`)

// RewriteRecords returns a database file with the text of each record changed. Its soundness is kept:
// everything from the first damaged record on is changed, too, and stays damaged.
func RewriteRecords(file []byte, change func(text []byte) []byte) (out []byte) {
	for len(file) > 0 {
		head := recordHeader.Get().FindSubmatch(file)
		if head == nil {
			break
		}
		size, err := strconv.Atoi(string(head[2]))
		text := file[len(head[0]):]
		if err != nil || size > len(text) || fmt.Sprintf("%x", sha1.Sum(text[:size])) != string(head[3]) {
			break
		}
		file = text[size:]
		text = change(bytes.Clone(text[:size]))
		out = append(fmt.Appendf(out, "OVSDB %s %d %x\n", head[1], len(text), sha1.Sum(text)), text...)
	}
	return append(out, change(bytes.Clone(file))...)
}

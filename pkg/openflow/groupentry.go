package openflow

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A GroupEntry is a group: a line of ovs-ofctl dump-groups.
type GroupEntry struct {
	ID      uint32
	Type    string // "all", "select", "indirect", "ff"
	Method  string // selection_method: "dp_hash", "hash"; "" for the default
	Param   uint64 // selection_method_param
	Fields  string // of method hash, as written: "ip_src,tcp_dst"
	Buckets []Bucket
}

// A Bucket is one of a group's action lists.
type Bucket struct {
	ID         int // -1: not written
	Weight     int // -1: not written, which means 1
	WatchPort  packet.PortID
	WatchGroup uint32
	Watch      bool // WatchPort was written
	Actions    Actions
}

// ParseGroupEntry parses a line of dump-groups, or one for add-group.
func ParseGroupEntry(line string) (GroupEntry, error) {
	var g GroupEntry
	if len(line) > maxActions {
		return g, &SyntaxError{Text: line, Msg: "group too long"}
	}
	c := cursor{text: line}
	for {
		c.skip(", \t\r\n")
		if c.done() {
			return g, nil
		}
		start := c.pos
		text, err := c.until(", \t\r\n")
		if err != nil {
			return g, in(err, line)
		}
		key, value, assigned := strings.Cut(text, "=")
		if assigned && (key == "bucket" || key == "buckets") {
			at := start + len(key) + 1
			buckets, err := parseBuckets(line[at:], at)
			g.Buckets = buckets
			return g, in(err, line)
		}
		if err := g.property(key, value, text); err != nil {
			return g, in(within(err, start), line)
		}
	}
}

func (g *GroupEntry) property(key, value, text string) error {
	var err error
	switch key {
	case "group_id":
		err = read(&g.ID, value, 0)
	case "type":
		g.Type = value
	case "selection_method":
		g.Method = value
	case "selection_method_param":
		err = read(&g.Param, value, 0)
	case "fields":
		g.Fields = value
	default:
		fields, opened := strings.CutPrefix(text, "fields(")
		fields, closed := strings.CutSuffix(fields, ")")
		if !opened || !closed {
			return fault(0, "unknown property of a group "+key)
		}
		g.Fields = fields
	}
	if strings.ContainsAny(g.Fields, "()\" \t\r\n") || strings.ContainsAny(g.Type+g.Method, "()\"") {
		return fault(0, "bad word in "+key)
	}
	return err
}

// parseBuckets reads "BUCKET,bucket=BUCKET…".
func parseBuckets(text string, base int) ([]Bucket, error) {
	var list []Bucket
	for {
		end, err := nextBucket(text, base)
		if err != nil {
			return nil, err
		}
		b, err := parseBucket(text[:end], base)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
		if end == len(text) {
			return list, nil
		}
		skip := end + len(",bucket=")
		text, base = text[skip:], base+skip
	}
}

// nextBucket returns where the first bucket in text ends.
func nextBucket(text string, base int) (int, error) {
	c := cursor{text: text, base: base}
	for !c.done() {
		if _, err := c.until(","); err != nil {
			return 0, err
		}
		if strings.HasPrefix(c.text[c.pos:], ",bucket=") {
			return c.pos, nil
		}
		if !c.done() {
			c.pos++
		}
	}
	return len(text), nil
}

func parseBucket(text string, base int) (Bucket, error) {
	b := Bucket{ID: -1, Weight: -1}
	c := cursor{text: text, base: base}
	for !c.done() {
		start := c.pos
		part, err := c.until(",")
		if err != nil {
			return b, err
		}
		at := start
		if strings.HasPrefix(part, "actions=") {
			at += len("actions=")
		} else if known, err := b.property(part); err != nil {
			return b, within(err, base+start)
		} else if known {
			c.skip(",")
			continue
		}
		b.Actions, err = parseActions(text[at:], base+at, 0)
		return b, err
	}
	return b, nil
}

func (b *Bucket) property(text string) (known bool, err error) {
	i := strings.IndexAny(text, ":=")
	if i < 0 {
		return false, nil
	}
	key, value := text[:i], text[i+1:]
	switch key {
	case "bucket_id":
		b.ID, err = atoi(value)
	case "weight":
		b.Weight, err = atoi(value)
	case "watch_port":
		b.Watch = true
		b.WatchPort, err = packet.ParsePort(value)
		err = within(err, 0)
	case "watch_group":
		err = read(&b.WatchGroup, value, 0)
	default:
		return false, nil
	}
	return true, err
}

// String writes the line as ovs-ofctl(8) does, without the leading space.
func (g GroupEntry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group_id=%d", g.ID)
	if g.Type != "" {
		b.WriteString(",type=" + g.Type)
	}
	if g.Method != "" {
		b.WriteString(",selection_method=" + g.Method)
	}
	if g.Param != 0 {
		fmt.Fprintf(&b, ",selection_method_param=%d", g.Param)
	}
	if strings.Contains(g.Fields, ",") || strings.Contains(g.Fields, "=") {
		b.WriteString(",fields(" + g.Fields + ")")
	} else if g.Fields != "" {
		b.WriteString(",fields=" + g.Fields)
	}
	for _, bucket := range g.Buckets {
		b.WriteString(",bucket=" + bucket.String())
	}
	return b.String()
}

// String writes the bucket as ovs-ofctl(8) does.
func (b Bucket) String() string {
	var s strings.Builder
	add := func(ok bool, format string, arg any) {
		if ok {
			fmt.Fprintf(&s, format, arg)
		}
	}
	add(b.ID >= 0, "bucket_id:%d,", b.ID)
	add(b.Weight >= 0, "weight:%d,", b.Weight)
	add(b.Watch, "watch_port:%s,", b.WatchPort)
	add(b.WatchGroup != 0, "watch_group:%d,", b.WatchGroup)
	add(true, "actions=%s", b.Actions)
	return s.String()
}

package openflow

import (
	"fmt"
	"strings"
	"time"
)

// A DatapathFlow is a megaflow in the datapath's cache: a line of ovs-appctl dpctl/dump-flows (ovs-dpctl(8)). Unlike a
// [FlowEntry] it has the datapath's fields, actions and ports.
type DatapathFlow struct {
	UFID    string // with -m
	Key     Attrs  // recirc_id(0), in_port(2), eth(src=…)
	Actions Attrs
	Packets uint64
	Bytes   uint64
	Used    time.Duration // since the last packet, in ms precision; negative: never
	Flags   string        // TCP flags seen: "SFP."

	// After the TCP flags, and after the actions: offloaded:yes, dp:tc, dp-extra-info:…
	Offload, Extra []Property
}

// A Property is a word in a line: "dp:ovs".
type Property struct{ Key, Value string }

// ParseDatapathFlow reads a line of dpctl/dump-flows.
func ParseDatapathFlow(line string) (DatapathFlow, error) {
	f := DatapathFlow{Used: -1}
	line = strings.TrimSpace(line)
	if len(line) > maxActions {
		return f, &SyntaxError{Text: line, Msg: "flow too long"}
	}
	end := strings.Index(line, separator+"packets:")
	if end < 0 {
		return f, &SyntaxError{Text: line, Offset: len(line), Msg: "packets expected"}
	}
	at := 0
	if rest, ok := strings.CutPrefix(line[:end], "ufid:"); ok {
		f.UFID, _, _ = strings.Cut(rest, separator)
		at = min(len("ufid:")+len(f.UFID)+len(separator), end)
	}
	var err error
	if f.Key, err = parseAttrs(line[at:end], at); err == nil {
		err = f.properties(line, end)
	}
	return f, in(err, line)
}

// separator separates the properties of a flow; its key and its actions contain no space.
const separator = ", "

// properties reads ", packets:1, bytes:2, …, actions:…".
func (f *DatapathFlow) properties(line string, at int) error {
	for at < len(line) {
		at += len(separator)
		key, rest, ok := strings.Cut(line[at:], ":")
		if !ok {
			return fault(at, "key:value expected")
		}
		if key == "actions" {
			return f.end(rest, at+len("actions:"))
		}
		value, _, more := strings.Cut(rest, separator)
		if err := f.property(key, value); err != nil {
			return within(err, at)
		}
		if !more {
			break
		}
		at += len(key) + 1 + len(value)
	}
	return fault(len(line), "actions expected")
}

func (f *DatapathFlow) property(key, value string) (err error) {
	switch key {
	case "packets":
		err = read(&f.Packets, value, 0)
	case "bytes":
		err = read(&f.Bytes, value, 0)
	case "used":
		if value == "never" {
			return nil
		}
		if f.Used, err = time.ParseDuration(value); err != nil || f.Used < 0 {
			return fault(0, "bad time "+value)
		}
	case "flags":
		f.Flags = value
	default:
		f.Offload = append(f.Offload, Property{key, value})
	}
	return err
}

// end reads the actions and anything after them.
func (f *DatapathFlow) end(text string, at int) error {
	actions, extra, _ := strings.Cut(text, separator)
	for extra != "" {
		var property string
		property, extra, _ = strings.Cut(extra, separator)
		key, value, ok := strings.Cut(property, ":")
		if !ok {
			return fault(at+len(actions), "key:value expected")
		}
		f.Extra = append(f.Extra, Property{key, value})
	}
	var err error
	f.Actions, err = parseAttrs(actions, at)
	return err
}

// String writes the line as dpctl/dump-flows does.
func (f DatapathFlow) String() string {
	var b strings.Builder
	if f.UFID != "" {
		b.WriteString("ufid:" + f.UFID + separator)
	}
	b.WriteString(f.Key.String())
	property := func(key, value string) { b.WriteString(separator + key + ":" + value) }
	property("packets", decimal(f.Packets))
	property("bytes", decimal(f.Bytes))
	if f.Used < 0 {
		property("used", "never")
	} else {
		property("used", fmt.Sprintf("%d.%03ds", f.Used/time.Second, f.Used%time.Second/time.Millisecond))
	}
	if f.Flags != "" {
		property("flags", f.Flags)
	}
	for _, p := range f.Offload {
		property(p.Key, p.Value)
	}
	property("actions", "")
	b.WriteString(f.Actions.String())
	for _, p := range f.Extra {
		property(p.Key, p.Value)
	}
	return b.String()
}

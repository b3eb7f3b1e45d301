package node

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// A Datapath is an OVS datapath with its counters.
type Datapath struct {
	Name              string // "system@ovs-system", "netdev@ovs-netdev"
	Hit, Missed, Lost uint64 // lookups; a lost one is a packet that ovs-vswitchd did not take in time
	Flows             int
	Masks             int // kernel datapath only; else 0
}

// Userspace reports whether ovs-vswitchd itself forwards the packets.
func (d Datapath) Userspace() bool { return strings.HasPrefix(d.Name, "netdev@") }

// ParseDatapaths parses dpctl/show.
func ParseDatapaths(text string) []Datapath {
	var list []Datapath
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if line[0] != ' ' && line[0] != '\t' {
			if key != "" {
				list = append(list, Datapath{Name: key})
			}
			continue
		}
		if len(list) == 0 {
			continue
		}
		d := &list[len(list)-1]
		n := numbers(value)
		switch key {
		case "lookups":
			d.Hit, d.Missed, d.Lost = n["hit"], n["missed"], n["lost"]
		case "flows":
			d.Flows = int(n[""])
		case "masks":
			d.Masks = int(n["total"])
		}
	}
	return list
}

// numbers parses "hit:233 missed:31"; a bare number is stored under "".
func numbers(text string) map[string]uint64 {
	n := map[string]uint64{}
	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, ":")
		if !ok {
			key, value = "", word
		}
		if v, err := strconv.ParseUint(value, 10, 64); err == nil {
			n[key] = v
		}
	}
	return n
}

// Megaflows returns the flows of a host's datapaths, as dpctl/dump-flows -m prints them. A capture has them per
// datapath; a directory of saved replies may have the dump made without naming one.
func Megaflows(ctx context.Context, h Host) (string, error) {
	shown, err := h.Control(ctx, "ovs-vswitchd", "dpctl/show")
	all := ParseDatapaths(shown)
	if err != nil || len(all) == 0 {
		return h.Control(ctx, "ovs-vswitchd", "dpctl/dump-flows", "-m")
	}
	var text strings.Builder
	for _, d := range all {
		dump, err := h.Control(ctx, "ovs-vswitchd", "dpctl/dump-flows", "-m", d.Name)
		if err != nil && len(all) == 1 && errors.Is(err, ErrUnavailable) {
			dump, err = h.Control(ctx, "ovs-vswitchd", "dpctl/dump-flows", "-m")
		}
		if err != nil {
			return "", err
		}
		text.WriteString(dump)
	}
	return text.String(), nil
}

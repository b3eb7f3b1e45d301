package openflow

import (
	"slices"
	"strings"
)

// A MeterEntry is a meter: an entry of ovs-ofctl dump-meters.
type MeterEntry struct {
	ID    string   // a number, or "controller", "slowpath"
	Flags []string // "kbps", "pktps", "burst", "stats"
	Bands []Band
}

// A Band is what a meter does with traffic above a rate.
type Band struct {
	Type      string // "drop", "dscp_remark"
	Rate      uint32 // kb/s or packets/s
	Burst     uint32 // burst_size; 0: none
	PrecLevel *uint8 // of dscp_remark: how far the drop precedence is raised
}

var meterFlags = []string{"kbps", "pktps", "burst", "stats"}

// ParseMeterEntry reads a meter as dump-meters prints it, on several lines, or as add-meter takes it.
func ParseMeterEntry(text string) (MeterEntry, error) {
	var m MeterEntry
	if len(text) > maxActions {
		return m, &SyntaxError{Text: text, Msg: "meter too long"}
	}
	c := cursor{text: text}
	for {
		c.skip(", \t\r\n")
		if c.done() {
			break
		}
		start := c.pos
		word, err := c.until(", \t\r\n")
		if err == nil {
			err = within(m.word(word), start)
		}
		if err != nil {
			return m, in(err, text)
		}
	}
	if m.ID == "" {
		return m, &SyntaxError{Text: text, Msg: "meter expected"}
	}
	return m, nil
}

func (m *MeterEntry) word(word string) error {
	key, value, assigned := strings.Cut(word, "=")
	if key == "bands" || key == "band" {
		if value == "" {
			return nil
		}
		key, value, assigned = strings.Cut(value, "=")
	}
	switch {
	case !assigned && slices.Contains(meterFlags, key):
		m.Flags = append(m.Flags, key)
		return nil
	case !assigned:
		return fault(0, "unknown word of a meter "+key)
	case key == "meter":
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || value == "" {
			return fault(0, "bad meter")
		}
		m.ID = value
		return nil
	case key == "type":
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") != "" || value == "" {
			return fault(0, "bad type of a band")
		}
		m.Bands = append(m.Bands, Band{Type: value})
		return nil
	case len(m.Bands) == 0:
		return fault(0, "type of the band expected before "+key)
	}
	return m.Bands[len(m.Bands)-1].property(key, value)
}

func (b *Band) property(key, value string) error {
	switch key {
	case "rate":
		return read(&b.Rate, value, 0)
	case "burst_size":
		return read(&b.Burst, value, 0)
	case "prec_level":
		b.PrecLevel = new(uint8)
		return read(b.PrecLevel, value, 0)
	}
	return fault(0, "unknown property of a band "+key)
}

// String writes the meter as dump-meters does: one line, and one per band.
func (m MeterEntry) String() string {
	s := "meter=" + m.ID + " "
	for _, f := range m.Flags {
		s += f + " "
	}
	s += "bands="
	for _, b := range m.Bands {
		s += "\n" + b.String()
	}
	return s
}

// String writes the band as dump-meters does.
func (b Band) String() string {
	s := "type=" + b.Type + " rate=" + decimal(uint64(b.Rate))
	if b.Burst != 0 {
		s += " burst_size=" + decimal(uint64(b.Burst))
	}
	if b.PrecLevel != nil {
		s += " prec_level=" + decimal(uint64(*b.PrecLevel))
	}
	return s
}

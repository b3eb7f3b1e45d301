package openflow

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

func (w word) ct(depth int) (Action, error) {
	ct := CT{Table: NoTable}
	c := cursor{text: w.body, base: w.bodyAt}
	for {
		c.skip(", ")
		if c.done() {
			return ct, nil
		}
		if err := c.ctArg(&ct, depth); err != nil {
			return nil, err
		}
	}
}

func (c *cursor) ctArg(ct *CT, depth int) error {
	start := c.pos
	for c.pos < len(c.text) && strings.IndexByte("=(, ", c.text[c.pos]) < 0 {
		c.pos++
	}
	w := word{name: c.text[start:c.pos], offset: c.base + start, bodyAt: c.base + c.pos}
	if c.done() || c.text[c.pos] == ',' || c.text[c.pos] == ' ' {
		return ct.flag(w)
	}
	paren := c.text[c.pos] == '('
	c.pos++
	w.bodyAt++
	var err error
	if paren {
		if w.body, err = c.group(); err != nil {
			return err
		}
		return ct.nested(w, depth)
	}
	if w.body, err = c.until(", "); err != nil {
		return err
	}
	return ct.assign(w)
}

func (ct *CT) flag(w word) error {
	switch w.name {
	case "commit":
		ct.Commit = true
	case "force":
		ct.Force = true
	case "nat":
		ct.NAT = &NAT{}
	default:
		return w.fault("unknown argument of ct")
	}
	return nil
}

func (ct *CT) nested(w word, depth int) error {
	switch w.name {
	case "nat":
		nat, err := w.nat()
		if err != nil {
			return err
		}
		ct.NAT = &nat
		return nil
	case "exec":
		list, err := parseActions(w.body, w.bodyAt, depth+1)
		ct.Exec = list
		return err
	}
	return w.fault("unknown argument of ct")
}

func (ct *CT) assign(w word) error {
	var err error
	switch w.name {
	case "table":
		ct.Table, err = w.table(w.body)
	case "alg":
		ct.Alg = w.body
	case "zone":
		ct.HasZone = true
		if w.body != "" && w.body[0] >= '0' && w.body[0] <= '9' {
			return read(&ct.Zone, w.body, w.bodyAt)
		}
		var sub packet.Subfield
		sub, err = w.subfield(w.body)
		ct.ZoneSrc = &sub
	default:
		err = w.fault("unknown argument of ct")
	}
	return err
}

func (w word) nat() (NAT, error) {
	var nat NAT
	c := cursor{text: w.body, base: w.bodyAt}
	for {
		c.skip(", ")
		if c.done() {
			return nat, nil
		}
		start := c.pos
		arg, err := c.until(", ")
		if err != nil {
			return nat, err
		}
		if err := nat.arg(arg, c.base+start); err != nil {
			return nat, err
		}
	}
}

func (n *NAT) arg(s string, offset int) error {
	key, value, ranged := strings.Cut(s, "=")
	switch key {
	case "src":
		n.Src = true
	case "dst":
		n.Dst = true
	case "persistent":
		n.Persistent = true
	case "hash":
		n.Hash = true
	case "random":
		n.Random = true
	default:
		return fault(offset, "unknown argument of nat "+key)
	}
	if !ranged {
		return nil
	}
	if key != "src" && key != "dst" {
		return fault(offset, key+" takes no value")
	}
	return n.addresses(value, offset+len(key)+1)
}

// addresses reads addr[-addr][:port[-port]], with IPv6 addresses in brackets if ports follow.
func (n *NAT) addresses(s string, offset int) error {
	addrs, ports := s, ""
	if end := strings.LastIndexByte(s, ']'); end >= 0 {
		addrs, ports = s[:end+1], strings.TrimPrefix(s[end+1:], ":")
	} else if strings.Count(s, ":") == 1 {
		addrs, ports, _ = strings.Cut(s, ":")
	}
	from, to, ranged := strings.Cut(addrs, "-")
	if !ranged {
		to = from
	}
	var err1, err2 error
	n.Min, err1 = natAddr(from)
	n.Max, err2 = natAddr(to)
	if err1 != nil || err2 != nil || n.Min.BitLen() != n.Max.BitLen() {
		return fault(offset, "bad address of nat")
	}
	if ports == "" {
		return nil
	}
	from, to, ranged = strings.Cut(ports, "-")
	if !ranged {
		to = from
	}
	return cmp.Or(read(&n.MinPort, from, offset), read(&n.MaxPort, to, offset))
}

func natAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err == nil && a.Zone() != "" {
		return a, fault(0, "address with a zone")
	}
	return a, err
}

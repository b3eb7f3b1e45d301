package openflow

import "strings"

// args splits the body at commas into key=value and bare values.
func (w word) args() []Arg {
	var list []Arg
	for part := range strings.SplitSeq(w.body, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			key, value = part, part
		}
		list = append(list, Arg{Key: key, Value: value})
	}
	return list
}

// other keeps an action that has no type of its own.
func (w word) other(depth int) (Action, error) {
	for i := range len(w.name) {
		if c := w.name[i] | 0x20; (c < 'a' || c > 'z') && w.name[i] != '_' && (i == 0 || w.name[i] < '0' || w.name[i] > '9') {
			return nil, fault(w.offset, "action expected")
		}
	}
	args, err := parseArgs(w.body, w.bodyAt, depth+1)
	return Other{Name: w.name, Args: args, Dst: w.dst, form: w.form}, err
}

func parseArgs(text string, base, depth int) ([]Arg, error) {
	if depth > maxDepth {
		return nil, fault(base, "actions nested too deeply")
	}
	c := cursor{text: text, base: base}
	var list []Arg
	for {
		c.skip(", ")
		if c.done() {
			return list, nil
		}
		a, err := c.arg(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
}

func (c *cursor) arg(depth int) (Arg, error) {
	start := c.pos
	for c.pos < len(c.text) && strings.IndexByte(`=:(", `, c.text[c.pos]) < 0 {
		c.pos++
	}
	a := Arg{Key: c.text[start:c.pos]}
	if c.done() || strings.IndexByte(`", `, c.text[c.pos]) >= 0 {
		rest, err := c.until(", ")
		return Arg{Value: a.Key + rest}, err
	}
	a.sep = c.text[c.pos]
	c.pos++
	if a.sep != '(' {
		value, err := c.until(", ")
		a.Value = value
		return a, err
	}
	at := c.base + c.pos
	body, err := c.group()
	if err != nil {
		return a, err
	}
	if a.Sub, err = parseArgs(body, at, depth+1); err != nil {
		return a, err
	}
	rest, err := c.until(", ")
	a.Value = rest
	return a, err
}

package openflow

import "strings"

// An Attr is an item of the text of the datapath: "drop", "eth_type(0x0800)", "src=10.0.0.1/255.0.0.0", "orig=(src=…)",
// "{class=0x102,…}". Values are kept as they were written; [Attrs.Get] finds one by name.
type Attr struct {
	Name  string // "" where a value or a list stands alone
	Value string // after "=", or the value that stands alone
	List  Attrs  // between parentheses or braces
	Rest  string // what follows a list: "/0xff"

	assigned bool // written with "="
	open     byte // '(' or '{' before List, else 0
}

// Attrs is a list of attributes, in the order in which they were written.
type Attrs []Attr

// Get returns the attribute of that name.
func (list Attrs) Get(name string) (Attr, bool) {
	for _, a := range list {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

// Value returns the value of "name=value" or "name(value)", "" if there is none.
func (list Attrs) Value(name string) string {
	a, ok := list.Get(name)
	switch {
	case !ok:
		return ""
	case a.open == 0:
		return a.Value
	}
	return a.List.String()
}

// String writes the attributes with commas between them.
func (list Attrs) String() string { return list.Print(nil) }

// Print writes the attributes as String does, and calls behind for each when it is written, which for a list is after
// what is in it: for item i of list, in depth pairs of parentheses, that ends at an offset in the text.
func (list Attrs) Print(behind func(list Attrs, i, depth, end int)) string {
	w := attrWriter{behind: behind}
	w.list(list, 0)
	return w.String()
}

type attrWriter struct {
	strings.Builder
	behind func(list Attrs, i, depth, end int) // may be nil
}

func (w *attrWriter) list(list Attrs, depth int) {
	for i, a := range list {
		if i > 0 {
			w.WriteByte(',')
		}
		w.attr(a, depth)
		if w.behind != nil {
			w.behind(list, i, depth, w.Len())
		}
	}
}

// String writes the attribute as it was read.
func (a Attr) String() string {
	var w attrWriter
	w.attr(a, 0)
	return w.String()
}

func (w *attrWriter) attr(a Attr, depth int) {
	w.WriteString(a.Name)
	if a.assigned {
		w.WriteByte('=')
	}
	if a.open == 0 {
		w.WriteString(a.Value)
		return
	}
	w.WriteByte(a.open)
	w.list(a.List, depth+1)
	w.WriteByte(closing(a.open))
	w.WriteString(a.Rest)
}

func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ')'
}

// ParseAttrs reads a list of attributes: the key or the actions of a datapath flow, a tuple of conntrack.
func ParseAttrs(s string) (Attrs, error) {
	if len(s) > maxActions {
		return nil, &SyntaxError{Text: s, Msg: "list too long"}
	}
	list, err := parseAttrs(s, 0)
	return list, in(err, s)
}

func parseAttrs(text string, base int) (Attrs, error) {
	c := cursor{text: text, base: base}
	list, err := c.attrs(0, 0)
	if err == nil && !c.done() {
		err = fault(c.base+c.pos, "unexpected "+string(rune(text[c.pos])))
	}
	return list, err
}

// attrs reads attributes up to the character that ends the list, or to the end of the text if that is 0.
func (c *cursor) attrs(end byte, depth int) (Attrs, error) {
	if depth > maxDepth {
		return nil, fault(c.base+c.pos, "nested too deeply")
	}
	var list Attrs
	if c.done() || c.text[c.pos] == end {
		return nil, nil
	}
	for {
		a, err := c.attr(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
		if c.done() || c.text[c.pos] != ',' {
			return list, nil
		}
		c.pos++
	}
}

func (c *cursor) attr(depth int) (Attr, error) {
	var a Attr
	start := c.pos
	c.pass("=(){},")
	a.Name = c.text[start:c.pos]
	if !c.done() && c.text[c.pos] == '=' {
		a.assigned = true
		c.pos++
		start = c.pos
		c.pass("(){},")
		a.Value = c.text[start:c.pos]
	}
	if c.done() || c.text[c.pos] != '(' && c.text[c.pos] != '{' {
		if !a.assigned {
			a.Name, a.Value = "", a.Name
		}
		return a, nil
	}
	if a.Value != "" { // src=[fd00::1]… does not go on with a parenthesis
		return a, fault(c.base+c.pos, "unexpected "+c.text[c.pos:c.pos+1])
	}
	opened := c.pos
	a.open = c.text[c.pos]
	c.pos++
	var err error
	if a.List, err = c.attrs(closing(a.open), depth+1); err != nil {
		return a, err
	}
	if c.done() || c.text[c.pos] != closing(a.open) {
		return a, fault(c.base+opened, "missing "+string(rune(closing(a.open))))
	}
	c.pos++
	start = c.pos
	c.pass("(){},")
	a.Rest = c.text[start:c.pos]
	return a, nil
}

// pass moves to the next of the stop characters, or to the end.
func (c *cursor) pass(stop string) {
	if n := strings.IndexAny(c.text[c.pos:], stop); n >= 0 {
		c.pos += n
	} else {
		c.pos = len(c.text)
	}
}

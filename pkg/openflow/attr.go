package openflow

import "strings"

// An Attr is an item of datapath text: "drop", "eth_type(0x0800)", "src=10.0.0.1/255.0.0.0", "orig=(src=…)",
// "{class=0x102,…}". Values are kept as written; [Attrs.Get] finds one by name.
type Attr struct {
	Name  string // "" for a bare value or list
	Value string // after "=", or the bare value
	List  Attrs  // in parentheses or braces
	Rest  string // after a list: "/0xff"

	assigned bool // written with "="
	open     byte // '(' or '{' before List, else 0
	behind   bool // written right behind the attribute before: {…}{…}, as options of Geneve
}

// Attrs is a list of attributes, in written order.
type Attrs []Attr

// Get returns the attribute by name.
func (list Attrs) Get(name string) (Attr, bool) {
	for _, a := range list {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

// Value returns the value of "name=value" or "name(value)", "" if not found.
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

// String writes the attributes, separated by commas.
func (list Attrs) String() string { return list.Print(nil) }

// Print writes the attributes as String does and calls behind after each one, for a list after its contents: item i of
// list, inside depth pairs of parentheses, ends at offset end in the text.
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
		if i > 0 && !a.behind {
			w.WriteByte(',')
		}
		w.attr(a, depth)
		if w.behind != nil {
			w.behind(list, i, depth, w.Len())
		}
	}
}

// String writes the attribute as read.
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

// ParseAttrs parses a list of attributes: a datapath flow's key or actions, or a conntrack tuple.
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

// attrs reads attributes up to the end character of the list; 0: to the end of the text.
func (c *cursor) attrs(end byte, depth int) (Attrs, error) {
	if depth > maxDepth {
		return nil, fault(c.base+c.pos, "nested too deeply")
	}
	var list Attrs
	if c.done() || c.text[c.pos] == end {
		return nil, nil
	}
	for behind := false; ; {
		a, err := c.attr(depth)
		if err != nil {
			return nil, err
		}
		a.behind = behind
		list = append(list, a)
		switch {
		case !c.done() && c.text[c.pos] == ',':
			behind = false
			c.pos++
		case !c.done() && c.text[c.pos] == '{' && a.open == '{' && a.Rest == "":
			behind = true
		default:
			return list, nil
		}
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
	if a.Value != "" { // src=[fd00::1]… is not followed by a parenthesis
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

// pass moves to the next stop character, or to the end.
func (c *cursor) pass(stop string) {
	if n := strings.IndexAny(c.text[c.pos:], stop); n >= 0 {
		c.pos += n
	} else {
		c.pos = len(c.text)
	}
}

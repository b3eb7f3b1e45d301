package ovnexpr

import "math"

// maxDepth bounds nested parentheses, as in ovn-controller.
const maxDepth = 100

// ParseMatch reads a match. The error is a *[SyntaxError].
func ParseMatch(text string) (m *Match, err error) {
	return parseMatch(text, nil)
}

func parseMatch(text string, check *annotator) (m *Match, err error) {
	defer recoverSyntax(&err)
	l := newLexer(text)
	l.check = check
	root := l.expression()
	l.force(end)
	return &Match{Text: text, Root: root}, nil
}

// expression reads operands joined by && or by ||.
func (l *lexer) expression() Node {
	first := l.operand()
	op := l.tok.kind
	if op != "&&" && op != "||" {
		return first
	}
	operands := []Node{first}
	for l.match(op) {
		operands = append(operands, l.operand())
	}
	if l.tok.kind == "&&" || l.tok.kind == "||" {
		l.fail(l.tok.Span, "&& and || must be parenthesized when used together.")
	}
	at := Span{first.Range().Start, operands[len(operands)-1].Range().End}
	if op == "&&" {
		return &And{operands, at}
	}
	return &Or{operands, at}
}

// operand reads a primary, possibly negated.
func (l *lexer) operand() Node {
	start := l.tok.Start
	if !l.match("!") {
		return l.primary()
	}
	l.negated = !l.negated
	n := l.primary()
	l.negated = !l.negated
	switch n.(type) {
	case *Compare, *Between:
		l.fail(n.Range(), "Missing parentheses around operand of !.")
	}
	return &Not{n, Span{start, n.Range().End}}
}

// primary reads parentheses, a function, a comparison or a constant.
func (l *lexer) primary() Node {
	start := l.tok.Start
	switch {
	case l.tok.kind == "(":
		return l.paren()
	case l.tok.kind == identifier && l.peek() == "(":
		return l.function()
	case l.tok.kind == identifier:
		field := l.field()
		op, ok := l.relop()
		if !ok {
			if l.tok.kind == "=" {
				l.syntax("expecting relational operator")
			}
			return l.checked(&Bare{field, field.Span})
		}
		values := l.values()
		return l.checked(&Compare{Field: field, Op: op, Values: values, Span: Span{start, values.End}})
	}
	return l.constantFirst()
}

// checked checks a leaf as annotation will.
func (l *lexer) checked(n Node) Node {
	if l.check != nil {
		l.check.leaf(n, l.negated)
	}
	return n
}

func (l *lexer) paren() Node {
	at := l.tok.Span
	if l.depth++; l.depth > maxDepth {
		l.fail(at, "Parentheses nested too deeply.")
	}
	l.next()
	inner := l.expression()
	at.End = l.tok.End
	l.force(")")
	l.depth--
	return &Paren{inner, at}
}

func (l *lexer) function() Node {
	at := l.tok.Span
	if l.tok.text != "is_chassis_resident" {
		panic(&SyntaxError{Text: l.in, Span: at, Msg: "parsing function name", unknown: true})
	}
	l.next()
	l.next()
	if l.tok.kind != quoted {
		l.syntax("expecting string")
	}
	port := l.tok.text
	l.next()
	at.End = l.tok.End
	l.force(")")
	return &Resident{port, at}
}

// constantFirst reads 0, 1, or a comparison that starts with constants.
func (l *lexer) constantFirst() Node {
	left := l.values()
	leftOp, ok := l.relop()
	if !ok {
		c := left.Items[0]
		if left.Braces || c.Kind != Integer || c.Masked || c.Format != Decimal || c.Value.Lo > 1 {
			l.syntax("expecting relational operator")
		}
		return &Literal{c.Value.Lo == 1, left.Span}
	}
	field := l.field()
	rightOp, ok := l.relop()
	if !ok {
		return l.checked(&Compare{Field: field, Op: leftOp.turn(), Values: left, Reversed: true, Span: Span{left.Start, field.End}})
	}
	right := l.values()
	at := Span{left.Start, right.End}
	if !leftOp.ordered() || !rightOp.ordered() || (leftOp <= LessEqual) != (rightOp <= LessEqual) {
		l.fail(at, "Range expressions must have the form `x < field < y' or `x > field > y', "+
			"with each `<' optionally replaced by `<=' or `>' by `>=').")
	}
	return l.checked(&Between{left, leftOp, field, rightOp, right, at})
}

// relop reads a relational operator, if any.
func (l *lexer) relop() (Op, bool) {
	for i, name := range opNames {
		if l.match(kind(name)) {
			return Op(i), true
		}
	}
	return 0, false
}

// field reads a field or bits of one.
func (l *lexer) field() Field {
	if l.tok.kind != identifier {
		l.syntax("expecting field name")
	}
	f := Field{Name: l.tok.text, Span: l.tok.Span}
	if l.check != nil {
		l.check.resolve(f)
	}
	l.next()
	if !l.match("[") {
		return f
	}
	f.Bits = true
	f.Lo = l.small()
	f.Hi = f.Lo
	if l.match("..") {
		f.Hi = l.small()
	}
	f.End = l.tok.End
	l.force("]")
	if f.Lo > f.Hi {
		l.fail(f.Span, "Invalid bit range %d to %d.", f.Lo, f.Hi)
	}
	if l.check != nil {
		l.check.resolve(f)
	}
	return f
}

// small reads a decimal number below 2**31.
func (l *lexer) small() int {
	c := l.tok.value
	if l.tok.kind != integer || c.Masked || c.Format != Decimal || c.Value.Lo > math.MaxInt32 {
		l.syntax("expecting small integer")
	}
	l.next()
	return int(c.Value.Lo)
}

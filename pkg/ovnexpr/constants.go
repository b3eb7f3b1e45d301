package ovnexpr

// Constants returns the constants in the text of a match or of actions, in order. It reads words only: the error is for what is
// none of either language.
func Constants(text string) (list []Constant, err error) {
	defer recoverSyntax(&err)
	for l := newLexer(text); l.tok.kind != end; l.next() {
		kind, ok := constantKinds.Get()[l.tok.kind]
		if !ok {
			continue
		}
		c := l.tok.value
		c.Kind, c.Text, c.Span = kind, l.tok.text, l.tok.Span
		list = append(list, c)
	}
	return list, nil
}

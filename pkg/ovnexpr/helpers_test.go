package ovnexpr

// String writes the match.
func (m *Match) String() string { return m.Root.String() }

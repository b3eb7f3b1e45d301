package fixes

import "strings"

func (s Rows) String() string    { return s.What }
func (s File) String() string    { return s.What }
func (s Network) String() string { return s.What }
func (s Control) String() string { return s.What }
func (s Await) String() string   { return "wait until " + s.What }
func (s Sysctl) String() string  { return "set " + s.Name + " to " + s.After }
func (s Module) String() string  { return "load " + strings.Join(s.Names, ", ") }

// Commands are those that the plan gives.
func (s Rows) Commands() []string { return s.Classic }

// OneWay is empty: rows are restored.
func (s Rows) OneWay() string { return "" }

// OneWay is empty: a file is restored.
func (s File) OneWay() string { return "" }

// OneWay is empty: each change has an inverse.
func (s Network) OneWay() string { return "" }

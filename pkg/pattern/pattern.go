// Package pattern compiles regular expressions when they are first used: a command uses few of all, and to compile them takes
// longer than most commands.
package pattern

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression.
type Pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns a pattern. It does nothing yet: the compiler lays a package's patterns out as data.
func New(text string) *Pattern { return &Pattern{text: text} }

// Get compiles the pattern, once. It panics if it is none.
func (p *Pattern) Get() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}

package page

import (
	"fmt"
	"strings"
)

// Findings are what doctor found.
type Findings struct {
	Result string // in a few words
	Faults []Finding
}

// A Finding is a fault, with the number that it has on the map.
type Finding struct {
	Level    Level
	Title    string
	Check    string // and where
	Evidence []string
	Cause    string
	Effect   string
	Fix      string // a command
	Next     string
	Under    []string // findings that it explains
}

func (f *Findings) write(b *writer) {
	b.element("p", f.Result)
	for i, fault := range f.Faults {
		fault.write(b, i+1)
	}
}

func (f *Finding) write(b *writer, number int) {
	b.raw(`<article class="` + f.Level.class() + `">`)
	b.element("h3", fmt.Sprintf("%d  %s  %s", number, strings.ToUpper(f.Level.class()), f.Title))
	b.element("p", f.Check)
	b.raw("<dl>\n")
	for _, e := range f.Evidence {
		b.row("seen", e)
	}
	b.row("cause", f.Cause)
	b.row("breaks", f.Effect)
	b.code("fix", f.Fix)
	b.row("next", f.Next)
	for _, u := range f.Under {
		b.row("also caused by this", u)
	}
	b.raw("</dl></article>\n")
}

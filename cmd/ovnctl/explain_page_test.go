package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/render"
)

var pageWord = regexp.MustCompile(`[\pL\d]{2,}`)

// Every page fits a terminal, but for code, which is not broken, and says all that it says in a pipe.
func TestPagesFit(t *testing.T) {
	for _, name := range explained() {
		e, err := explain(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, columns := range []int{60, 80, 120} {
			var out strings.Builder
			if err := render.Page(&out, render.Style{Width: columns}, e.page()); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if len([]rune(line)) > columns && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s: wider than %d columns: %s", name, columns, line)
				}
			}
			// A word that is broken is there once the breaks are taken out.
			plain := strings.Join(strings.Fields(out.String()), "")
			for _, word := range pageWord.FindAllString(linkTarget.ReplaceAllString(e.page(), "]"), -1) {
				if !strings.Contains(plain, word) {
					t.Errorf("%s in %d columns: %q is missing", name, columns, word)
				}
			}
		}
	}
}

var linkTarget = regexp.MustCompile(`\]\([^)]*\)`)

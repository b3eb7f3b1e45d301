package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help fits a terminal of 80 columns; only examples, which are commands to copy, may be longer.
func TestHelpFits(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		text := strings.Replace(c.Long+"\n"+c.UsageString(), c.Example, "", 1)
		for line := range strings.Lines(text) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("%s: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(newRoot(&options{}))
}

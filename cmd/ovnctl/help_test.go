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
	check(newRoot(&options{}, ""))
}

// What prints text only refuses a format, and help on an unknown command, or a completion for an unknown shell, is an error.
func TestTextOnly(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"completion", "bash", "-o", "json"}, "prints text only"},
		{[]string{"help", "trcae"}, "did you mean ovnctl trace?"},
		{[]string{"completion", "bsah"}, "did you mean ovnctl completion bash"},
	} {
		var out, errs strings.Builder
		if code := run(t.Context(), test.args, strings.NewReader(""), &out, &errs); code != exitUsage || !strings.Contains(errs.String()+out.String(), test.want) {
			t.Errorf("%q: exit code %d, no %q in\n%s%s", test.args, code, test.want, &out, &errs)
		}
	}
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/docs"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/repairs"
)

func newExplain(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain a check or a repair in a page of text",
		Long: `explain prints the page of a check of doctor, or what a repair of fix does and
what it does not. doctor --list-checks and fix list have the names.`,
		Example: `  ovnctl explain uplink-not-in-bridge
  ovnctl explain enable-port`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := explain(args[0])
			if err != nil {
				return usageError{err}
			}
			_, err = io.WriteString(o.stdout, text)
			return err
		},
	}
}

func explain(name string) (string, error) {
	if page, ok := docs.Page("checks/" + name); ok && doctor.Find(name) != nil {
		return page, nil
	}
	if r := repairs.Find(name); r != nil {
		return repairPage(r), nil
	}
	near := slices.DeleteFunc(explained(), func(n string) bool {
		return !slices.ContainsFunc(strings.Split(name, "-"), func(word string) bool { return len(word) > 2 && strings.Contains(n, word) })
	})
	hint := "doctor --list-checks and fix list have the names"
	if len(near) > 0 && len(near) <= 8 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "", fmt.Errorf("nothing is known of %q\nhint: %s", name, hint)
}

// repairPage is what a repair does, how it is called and what it costs.
func repairPage(r *fixes.Repair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n## How it is used\n\n    %s\n", r.Name, strings.TrimSpace(r.Doc), strings.TrimSpace("ovnctl fix "+r.Name+" "+render.Usage(r)))
	for i, p := range r.Params {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s: %s\n", p.Name, p.Doc)
	}
	undo := "It can be undone: ovnctl fix undo."
	if r.OneWay != "" {
		undo = "It cannot be undone: " + r.OneWay + "."
	}
	fmt.Fprintf(&b, "\nRisk: %s. %s\n--dry-run shows the plan and changes nothing.\n", r.Risk, undo)
	fmt.Fprintf(&b, "\n## What it mends\n\nWhat the check %[1]s finds: ovnctl explain %[1]s\n", r.Check)
	return b.String()
}

// explained are all names that explain knows.
func explained() []string {
	var names []string
	for _, c := range doctor.Checks {
		names = append(names, c.Name)
	}
	for _, r := range repairs.Repairs {
		names = append(names, r.Name)
	}
	return names
}

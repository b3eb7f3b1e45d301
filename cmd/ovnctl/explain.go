package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/docs"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

func newExplain(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Print a page about a check, repair, stage, register or verdict",
		Long: `explain prints a page about a check of doctor; a repair of fix; a stage of the
logical pipelines, a table of ovn-controller or a register, with its number or
bits in each release; or a verdict of trace. doctor --list-checks and fix list
have the names of checks and repairs; the others are in the output of the other
commands.`,
		Example: `  ovnctl explain uplink-not-in-bridge
  ovnctl explain enable-port
  ovnctl explain ls_in_acl
  ovnctl explain reg15
  ovnctl explain dropped`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := o.format(textFormats...)
			if err != nil {
				return err
			}
			e, err := explain(args[0])
			if err != nil {
				return usageError{err}
			}
			if format == "text" {
				return render.Page(o.stdout, o.style(o.stdout), e.page())
			}
			return render.Write(o.stdout, format, e)
		},
	}
}

// An explanation is a page: kind Explanation.
type explanation struct {
	document.Envelope
	Name  string `json:"name"`
	About string `json:"about"` // check, repair, stage, table, register or verdict
	Title string `json:"title"` // what the name means, in a line
	Text  string `json:"text"`  // the page below its title, in Markdown
}

// newExplanation splits a page that begins with "# NAME: TITLE".
func newExplanation(about, page string) explanation {
	head, text, _ := strings.Cut(page, "\n")
	name, title, _ := strings.Cut(strings.TrimPrefix(head, "# "), ": ")
	return explanation{
		Envelope: document.New("Explanation", nil, nil), Name: name, About: about, Title: title, Text: strings.TrimSpace(text) + "\n",
	}
}

// page returns the page as written.
func (e explanation) page() string { return "# " + e.Name + ": " + e.Title + "\n\n" + e.Text }

func explain(name string) (explanation, error) {
	if page, ok := docs.Page("checks/" + name); ok && checks.Find(name) != nil {
		return newExplanation("check", page), nil
	}
	if r := catalog.Find(name); r != nil {
		return newExplanation("repair", repairPage(r)), nil
	}
	if page, about := decode.Page(name); page != "" {
		return newExplanation(about, page), nil
	}
	if page, ok := docs.Page("verdicts/" + name); ok && slices.Contains(verdicts, journey.Outcome(name)) {
		return newExplanation("verdict", page), nil
	}
	hint := "doctor --list-checks and fix list have the names of checks and repairs"
	if near := near(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return explanation{}, fmt.Errorf("nothing is known of %q\nhint: %s", name, hint)
}

// near suggests names: those most like name, else the few that share a word with it. Stage topics have no direction.
func near(name string) []string {
	name = strings.ToLower(name)
	names := explained()
	if like := topology.NearestNames(direction.Get().Replace(name), names); len(like) > 0 {
		return like
	}
	sharing := slices.DeleteFunc(names, func(n string) bool {
		return !slices.ContainsFunc(strings.FieldsFunc(name, notLetter), func(word string) bool {
			return len(word) > 2 && strings.Contains(strings.ToLower(n), word)
		})
	})
	if len(sharing) > 8 {
		return nil
	}
	return sharing
}

var direction = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer("ls_in_", "ls_", "ls_out_", "ls_", "lr_in_", "lr_", "lr_out_", "lr_")
}}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// verdicts are the verdicts of a trace; each has a page.
var verdicts = []journey.Outcome{journey.Delivered, journey.Rejected, journey.Consumed, journey.Dropped, journey.Unknown}

// repairPage describes what a repair does, its arguments and its cost.
func repairPage(r *fixes.Repair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n## How it is used\n\n    %s\n", r.Name, strings.TrimSpace(r.Doc), strings.TrimSpace("ovnctl fix "+r.Name+" "+r.Usage()))
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
	fmt.Fprintf(&b, "\n## What it repairs\n\nWhat the check %[1]s finds: ovnctl explain %[1]s\n", r.Check)
	return b.String()
}

// explained returns all names that explain knows.
func explained() []string {
	var names []string
	for _, c := range checks.All {
		names = append(names, c.Name)
	}
	for _, r := range catalog.Repairs {
		names = append(names, r.Name)
	}
	for _, v := range verdicts {
		names = append(names, string(v))
	}
	return append(names, decode.Topics()...)
}

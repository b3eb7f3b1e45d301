package gendocs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// page is the man page of cmd in the man(7) macros.
//
// The help text is taken as it is written for the terminal: indented lines stay as
// they are, a line such as "Exit status:" over indented lines begins a section,
// other lines are paragraphs.
func page(cmd *cobra.Command) string {
	var p pageWriter
	p.line(".TH %s 8 \"\" %s %s", quote(strings.ToUpper(pageName(cmd))),
		quote(strings.TrimSpace(cmd.Root().Name()+" "+cmd.Root().Version)), quote("System Administration"))
	p.line(".ad l\n.nh") // object names must stay exactly as they are
	p.section("NAME")
	p.line("%s \\- %s", text(pageName(cmd)), text(cmd.Short))
	p.section("SYNOPSIS")
	p.line(".B %s", quote(cmd.UseLine()))
	p.section("DESCRIPTION")
	p.prose(description(cmd))
	p.commands(children(cmd))
	cmd.InitDefaultHelpFlag()
	p.options("OPTIONS", cmd.NonInheritedFlags())
	p.options("GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.verbatim(strings.Split(cmd.Example, "\n"))
	}
	p.seeAlso(cmd)
	return p.String()
}

func description(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

type pageWriter struct{ strings.Builder }

func (p *pageWriter) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *pageWriter) section(title string) { p.line(".SH %s", quote(title)) }

// prose writes help text: blocks separated by blank lines.
func (p *pageWriter) prose(s string) {
	for block := range strings.SplitSeq(strings.Trim(s, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		switch {
		case titled(lines):
			p.section(strings.ToUpper(strings.TrimSuffix(lines[0], ":")))
			p.verbatim(lines[1:])
		case indented(lines[0]):
			p.verbatim(lines)
		default:
			p.line(".PP")
			p.mixed(lines)
		}
	}
}

// titled reports whether lines are a title above indented lines.
func titled(lines []string) bool {
	return len(lines) > 1 && strings.HasSuffix(lines[0], ":") && !indented(lines[0]) &&
		!slices.ContainsFunc(lines[1:], func(s string) bool { return !indented(s) })
}

func indented(s string) bool { return strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\t") }

// mixed writes a paragraph, keeping indented lines as they are.
func (p *pageWriter) mixed(lines []string) {
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && indented(lines[end]) == indented(lines[i]) {
			end++
		}
		if indented(lines[i]) {
			p.verbatim(lines[i:end])
		} else {
			p.line("%s", text(strings.Join(lines[i:end], "\n")))
		}
		i = end
	}
}

func (p *pageWriter) verbatim(lines []string) {
	p.line(".RS 4\n.nf")
	for _, l := range lines {
		p.line("%s", text(strings.TrimPrefix(l, "  ")))
	}
	p.line(".fi\n.RE")
}

func (p *pageWriter) commands(cmds []*cobra.Command) {
	if len(cmds) == 0 {
		return
	}
	p.section("COMMANDS")
	for _, c := range cmds {
		p.line(".TP\n.BR %s \" (8)\"\n%s", quote(pageName(c)), text(c.Short))
	}
}

func (p *pageWriter) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		argument, usage := pflag.UnquoteUsage(f)
		p.line(".TP\n%s", synopsis(f, argument))
		p.line("%s", text(usage+defaultNote(f, usage)))
	})
}

// synopsis returns "-p, --private-key file" with fonts.
func synopsis(f *pflag.Flag, argument string) string {
	s := bold("--" + f.Name)
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		s = bold("-"+f.Shorthand) + ", " + s
	}
	if argument != "" {
		s += " \\fI" + text(argument) + "\\fR"
	}
	return s
}

func defaultNote(f *pflag.Flag, usage string) string {
	if slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) || strings.Contains(usage, "(default") {
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func (p *pageWriter) seeAlso(cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageName(cmd.Parent()))
	}
	for _, c := range children(cmd) {
		pages = append(pages, pageName(c))
	}
	pages = append(pages, "ovn-nbctl", "ovn-sbctl", "ovn-trace", "ovs-vsctl", "ovs-vswitchd")
	for i, name := range pages {
		pages[i] = bold(name) + "(8)"
	}
	p.section("SEE ALSO")
	p.line("%s", strings.Join(pages, ",\n"))
}

func bold(s string) string { return "\\fB" + text(s) + "\\fR" }

// escape protects what roff would treat as a command or typographic sign.
var escape = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// text escapes s as text, also at the start of a line.
func text(s string) string {
	lines := strings.Split(escape.Replace(s), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// quote makes s one macro argument.
func quote(s string) string {
	return `"` + strings.ReplaceAll(escape.Replace(s), `"`, `\(dq`) + `"`
}

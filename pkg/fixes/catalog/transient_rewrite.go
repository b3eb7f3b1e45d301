package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// rewritten is the file with the option in effect, and notes on what else changes. The
// options that are in effect stay; those that only a shell would have combined are
// combined.
func rewritten(t *facts.TransientDefault) (text []byte, notes []string, err error) {
	file := envfile.Systemd(t.Text, false)
	set := file.Last(t.Variable)
	var words []string
	switch {
	case t.Form == facts.TransientGlued:
		return unglued(t, file)
	case t.Form == facts.TransientSelfReference:
		// What the shell makes of it is what was meant.
		shell := envfile.LastShell(t.Text, t.Variable)
		if shell == nil || shell.Ignored {
			return nil, nil, rewriteByHand(t, set)
		}
		words = envfile.Words(shell.Value)
	case set == nil:
		for _, a := range file.Assignments {
			if a.Ignored && strings.Contains(a.Value, facts.DeleteTransient) && strings.Contains(a.Name, t.Variable) {
				set, words = &a, envfile.Words(a.Value) // export VAR=, VAR+=
			}
		}
	default:
		words = envfile.Words(set.Value)
	}
	var comment string
	if facts.StopsOVS(words) != "" {
		if words, comment, err = meant(words); err != nil {
			return nil, nil, rewriteByHand(t, set)
		}
	}
	words = withOption(words)
	line := t.Variable + "=" + envfile.Quote(join(words))
	if comment != "" {
		line = comment + "\n" + line
	}
	if set == nil {
		at := len(t.Text)
		for _, c := range file.Comments {
			if t.Form == facts.TransientCommented && strings.Contains(c.Text, facts.DeleteTransient) {
				at = c.End
			}
		}
		text = envfile.Replace(t.Text, at, at, line)
	} else {
		text = envfile.Replace(t.Text, set.Start, set.End, line)
	}
	// Earlier settings have no effect, and with the option in them would mislead the next reader.
	for _, a := range slices.Backward(file.Assignments) {
		if set != nil && a.Name == t.Variable && a.Start < set.Start && t.Form != facts.TransientMissing {
			text = envfile.Replace(text, a.Start, a.End, "")
			notes = append(notes, fmt.Sprintf("line %d is removed: line %d sets %s again", a.Line, set.Line, t.Variable))
		}
	}
	return checkedRewrite(t, text, notes)
}

// checkedRewrite is a text that systemd and a shell read alike and ovs-ctl accepts.
func checkedRewrite(t *facts.TransientDefault, text []byte, notes []string) ([]byte, []string, error) {
	after := t.With(text)
	shell := envfile.LastShell(text, t.Variable)
	if after.Form != facts.TransientWorks || shell == nil || shell.Ignored || shell.Value != after.Value {
		return nil, nil, rewriteByHand(t, nil)
	}
	return text, notes, nil
}

func rewriteByHand(t *facts.TransientDefault, set *envfile.Assignment) error {
	line := t.Line
	if set != nil {
		line = set.Line
	}
	return fixes.Refuse(fmt.Sprintf("write the line by hand: %s=\"%s\"", t.Variable, facts.DeleteTransient),
		"%s line %d is unclear: %s", t.File, line, strings.TrimSpace(envfile.Line(t.Text, line)))
}

// unglued separates the setting from the line that it was appended to.
func unglued(t *facts.TransientDefault, file envfile.File) ([]byte, []string, error) {
	start, end := -1, 0
	for _, a := range file.Assignments {
		if strings.Contains(a.Value, facts.DeleteTransient) {
			start, end = a.Start, a.End
		}
	}
	if start < 0 {
		for _, c := range file.Comments {
			if strings.Contains(c.Text, facts.DeleteTransient) {
				start, end = c.Start, c.End
			}
		}
	}
	if start < 0 {
		return nil, nil, rewriteByHand(t, nil)
	}
	whole := string(t.Text[start:end])
	i := strings.LastIndex(whole, t.Variable+"=")
	if i <= 0 {
		// The bare option after another setting, which keeps its value.
		i = strings.Index(whole, facts.DeleteTransient)
		rest := strings.TrimRight(whole[:i], " \t")
		if strings.Count(rest, `"`)%2 == 1 || strings.Count(rest, `'`)%2 == 1 || strings.TrimSpace(whole[i+len(facts.DeleteTransient):]) != "" {
			return nil, nil, rewriteByHand(t, nil)
		}
		return rewriteAgain(t.With(envfile.Replace(t.Text, start, end, rest)))
	}
	front, tail := strings.TrimRight(whole[:i], " \t;"), whole[i:]
	if a := envfile.Systemd([]byte(front), false).Last(t.Variable); a != nil { // glued to a setting of the same variable
		words := envfile.Words(a.Value)
		if a := envfile.Systemd([]byte(tail), false).Last(t.Variable); a != nil {
			words = append(words, envfile.Words(a.Value)...)
		}
		front, tail = "", t.Variable+"="+envfile.Quote(join(words))
	} else {
		front += "\n"
	}
	return rewriteAgain(t.With(envfile.Replace(t.Text, start, end, front+tail)))
}

// rewriteAgain fixes what is left once the lines are separate.
func rewriteAgain(t *facts.TransientDefault) ([]byte, []string, error) {
	switch t.Form {
	case facts.TransientWorks:
		return checkedRewrite(t, t.Text, nil)
	case facts.TransientGlued:
		return nil, nil, rewriteByHand(t, nil)
	}
	return rewritten(t)
}

// meant are the options among words that ovs-ctl does not accept as they are:
// typographic quotation marks and dashes become plain ones, and a comment after the
// value is separated.
func meant(words []string) (options []string, comment string, err error) {
	replacer := strings.NewReplacer("“", "", "”", "", "„", "", "‘", "", "’", "", "—", "--", "–", "--", "−", "--", `"`, "")
	for i, w := range words {
		if at := strings.IndexByte(w, '#'); at >= 0 && strings.HasPrefix(w, "-") || strings.HasPrefix(w, "#") {
			tail := append([]string{w[at:]}, words[i+1:]...)
			if w = w[:at]; w != "" {
				options = append(options, w)
			}
			comment = strings.TrimSpace(strings.Join(tail, " "))
			break
		}
		w = replacer.Replace(w)
		for strings.HasPrefix(w, "---") {
			w = w[1:]
		}
		options = append(options, w)
	}
	if stops := facts.StopsOVS(options); stops != "" {
		return nil, "", errors.New(stops)
	}
	return options, comment, nil
}

// withOption adds the option unless it is in effect, and removes what turns it off.
func withOption(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return w == "--no-delete-transient-ports" || strings.HasPrefix(w, facts.DeleteTransient+"=")
	})
	if !slices.Contains(words, facts.DeleteTransient) {
		words = append(words, facts.DeleteTransient)
	}
	return words
}

// join writes words so that systemd splits them into the same.
func join(words []string) string {
	return strings.Join(namesOf(words, quotedWord), " ")
}

var special = regexp.MustCompile("[ \t\r\n\"'\\\\]")

// quotedWord is a word that systemd reads as one. People write quotes in the middle of a
// word: --options='-a -b'.
func quotedWord(w string) string {
	switch name, value, ok := strings.Cut(w, "="); {
	case w != "" && !strings.ContainsAny(w, " \t\r\n\"'\\"):
		return w
	case strings.ContainsAny(w, `'\`):
		return special.ReplaceAllString(w, `\$0`)
	case ok && !strings.ContainsAny(name, " \t\""):
		return name + "='" + value + "'"
	}
	return "'" + w + "'"
}

// withoutOption is the file that is not read, without the option; nil: nothing else is in it.
func withoutOption(t *facts.TransientDefault) []byte {
	text := t.WrongFile
	for _, a := range slices.Backward(envfile.Systemd(text, false).Assignments) {
		if !strings.Contains(a.Value, facts.DeleteTransient) {
			continue
		}
		words := slices.DeleteFunc(envfile.Words(a.Value), func(w string) bool { return w == facts.DeleteTransient })
		line := ""
		if len(words) > 0 {
			line = a.Name + "=" + envfile.Quote(join(words))
		}
		text = envfile.Replace(text, a.Start, a.End, line)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	return text
}

// cleanWrongFile is the step that removes the option from the file that is not read, if there is one.
func cleanWrongFile(t *facts.TransientDefault) []fixes.Step {
	if t.Wrong == "" {
		return nil
	}
	return []fixes.Step{fixes.File{Path: t.Wrong, Before: t.WrongFile, After: withoutOption(t), What: "remove " + facts.DeleteTransient + " from " + t.Wrong + ", which is not read"}}
}

package render

import (
	"io"
	"strings"
)

// Explanation is the JSON and YAML form of a page of explain.
type Explanation struct {
	Envelope
	Name  string `json:"name"`
	About string `json:"about"` // check, repair, stage, table, register or verdict
	Title string `json:"title"` // what the name means, in a line
	Text  string `json:"text"`  // the page below its title, in Markdown
}

// NewExplanation takes a page apart that begins with "# NAME: TITLE".
func NewExplanation(about, page string) Explanation {
	head, text, _ := strings.Cut(page, "\n")
	name, title, _ := strings.Cut(strings.TrimPrefix(head, "# "), ": ")
	return Explanation{
		Envelope: NewEnvelope("Explanation", nil, nil), Name: name, About: about, Title: title, Text: strings.TrimSpace(text) + "\n",
	}
}

// Page is the page as it was written.
func (e Explanation) Page() string { return "# " + e.Name + ": " + e.Title + "\n\n" + e.Text }

// Explain writes a page: text, json or yaml.
func Explain(w io.Writer, format string, e Explanation) error {
	if format == "json" || format == "yaml" {
		return Write(w, format, e)
	}
	_, err := io.WriteString(w, e.Page())
	return err
}

package render

import (
	"fmt"
	"io"
	"strings"
)

// DemoDocument is the JSON and YAML form of what can be tried.
type DemoDocument struct {
	Envelope
	Captures []DemoCapture `json:"captures"` // that are in the program
	Commands []DemoCommand `json:"commands"` // in the order in which one would ask
}

// A DemoCapture is a capture in the program.
type DemoCapture struct {
	Name  string `json:"name"` // as --offline takes it
	Holds string `json:"holds"`
}

// A DemoCommand is a command to try.
type DemoCommand struct {
	Command string `json:"command"` // as a shell takes it
	Shows   string `json:"shows"`
}

// Demo writes what can be tried: text, json or yaml.
func Demo(w io.Writer, format string, doc DemoDocument) error {
	if format == "json" || format == "yaml" {
		return Write(w, format, doc)
	}
	var b strings.Builder
	for _, c := range doc.Captures {
		fmt.Fprintf(&b, "%-13s %s\n", c.Name, c.Holds)
	}
	for _, c := range doc.Commands {
		fmt.Fprintf(&b, "\n# %s\n%s\n", c.Shows, c.Command)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

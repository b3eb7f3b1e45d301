package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/render"
)

// style returns what w can show. Each stream has its own: standard error in a file gets no escapes, even if standard
// output is a terminal.
func (o *options) style(w io.Writer) render.Style {
	s := render.Style{ASCII: !utf8Locale()}
	if out, ok := w.(*stream); ok {
		w = out.Writer
	}
	f, isFile := w.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	if terminal {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.Width = width
		}
	}
	s.Color = colored(o.color, terminal)
	return s
}

// colored reports whether to use colour, per no-color.org and the CLICOLOR variables: the flag wins, then NO_COLOR,
// then CLICOLOR_FORCE, then the terminal.
func colored(flag string, terminal bool) bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case flag != "auto":
		return flag == "always"
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case os.Getenv("CLICOLOR") == "0":
		return false
	}
	t := os.Getenv("TERM")
	return terminal && t != "" && t != "dumb"
}

func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToUpper(v)
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}

package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/render"
)

// A progress tells on a terminal how far the command has come.
type progress struct {
	options *options
	total   int
	start   time.Time
	shown   bool
}

// progress tells nothing where standard error is no terminal.
func (o *options) progress(total int) *progress {
	f, isFile := o.stderr.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{options: o, total: total}
}

// loading tells how much of the flows was read.
func (p *progress) loading(done, total int) {
	p.show("reading the logical flows: %d of %d parts", done, total)
}

// asked tells how many pairs were.
func (p *progress) asked(done int) {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	left := ""
	if spent := time.Since(p.start); done > 0 && spent > time.Second {
		left = fmt.Sprintf(", %s left", (spent * time.Duration(p.total-done) / time.Duration(done)).Round(time.Second))
	}
	p.show("%d of %d pairs%s", done, p.total, left)
}

func (p *progress) show(format string, args ...any) {
	if p.options == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.options.stderr, "\r\x1b[K"+format, args...)
}

// found leaves a line above: what is known already.
func (p *progress) found(result, title string) {
	p.show("%s: %s\n", result, render.Clean(title))
}

// clear takes the line away again.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.options.stderr, "\r\x1b[K")
	}
}

package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// A progress shows a command's progress on a terminal.
type progress struct {
	options *options
	total   int
	start   time.Time
	shown   bool
}

// progress shows nothing if standard error is not a terminal.
func (o *options) progress(total int) *progress {
	f, isFile := o.stderr.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{options: o, total: total}
}

// loading shows the number of flows read.
func (p *progress) loading(done, total int) {
	p.show("reading the logical flows: %d of %d parts", done, total)
}

// asked shows the number of pairs traced.
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

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.options.stderr, "\r\x1b[K")
	}
}

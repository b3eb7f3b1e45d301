// Package page puts answers about a deployment into one HTML file, for tickets and post-mortems, and into the pages that
// ovnctl ui serves.
//
// A file needs no network and may do nothing but show itself: its content security policy names the scripts and the style sheet
// that are in it. All that comes from a deployment is text.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Page is what is shown. What is nil or empty has no section.
type Page struct {
	Title   string
	Sources []string // what was read
	Time    string   // when
	Notes   []string

	Map      *picture.Picture
	Findings *Findings
	Paths    []Path
	Reach    *picture.Picture
	Changes  *Changes

	Topology *topology.Topology // whose rows can be looked up and searched
	Trace    string             // the command that follows a packet in what was read, without its ends
	Live     *Live              // for ovnctl ui
}

var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
	//go:embed live.js
	liveScript string
)

// Policy is the content security policy of the page.
func (p *Page) Policy() string {
	policy := "default-src 'none'; style-src " + hash(css()) + "; script-src " + hash(script)
	if p.Live != nil {
		policy += " " + hash(liveScript) + "; connect-src 'self'"
	}
	return policy + "; base-uri 'none'; form-action 'none'"
}

func css() string { return style + picture.Styles() }

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	data, err := p.data()
	if err != nil {
		return err
	}
	var b writer
	b.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.raw(`<meta http-equiv="Content-Security-Policy" content="` + p.Policy() + `">` + "\n")
	b.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n<title>")
	b.text(p.Title)
	b.raw("</title>\n<style>" + css() + "</style>\n</head>\n<body>\n")
	sections := p.sections()
	p.header(&b, sections)
	b.raw("<main>\n")
	for _, s := range sections {
		b.raw(`<section id="` + s.id + `"><h2>` + s.title + "</h2>\n")
		s.write(&b)
		b.raw("</section>\n")
	}
	b.raw("</main>\n")
	b.raw("<aside id=\"object\" aria-label=\"The chosen object\" aria-live=\"polite\" hidden></aside>\n")
	b.raw("<script type=\"application/json\" id=\"data\">" + data + "</script>\n<script>" + script + "</script>\n")
	if p.Live != nil {
		b.raw("<script>" + liveScript + "</script>\n")
	}
	b.raw("</body>\n</html>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

// A section is a part of the page that its head leads to.
type section struct {
	id, title string
	write     func(*writer)
}

func (p *Page) sections() []section {
	var all []section
	if p.Map != nil {
		all = append(all, section{"overview", "Overview", p.overview})
	}
	if p.Changes != nil {
		all = append(all, section{"changes", "Changes", p.Changes.write})
	}
	paths := section{"paths", "Paths", p.paths}
	if p.Live != nil {
		all = append(all, paths)
	}
	if p.Findings != nil {
		all = append(all, section{"findings", "Findings", p.Findings.write})
	}
	if len(p.Paths) > 0 && p.Live == nil {
		all = append(all, paths)
	}
	if p.Reach != nil || p.Live != nil {
		all = append(all, section{"reach", "Who can talk to whom", p.reach})
	}
	return all
}

func (p *Page) header(b *writer, sections []section) {
	b.raw("<header>\n")
	b.element("h1", p.Title)
	b.raw("<p class=\"source\">")
	b.text(strings.Join(append([]string{p.Time}, p.Sources...), "  ·  "))
	b.raw("</p>\n<nav aria-label=\"Sections\">")
	for _, s := range sections {
		b.raw(`<a href="#` + s.id + `">` + s.title + "</a> ")
	}
	b.raw("</nav>\n")
	if p.Topology != nil {
		b.raw("<div class=\"search\" role=\"search\"><label for=\"search\">Search</label> <input id=\"search\" type=\"search\" autocomplete=\"off\" " +
			"placeholder=\"pod, address, switch, UUID\"><ul id=\"hits\" hidden></ul></div>\n")
	}
	for _, n := range p.Notes {
		b.raw(`<p class="note">`)
		b.text("note: " + n)
		b.raw("</p>\n")
	}
	if p.Live != nil {
		p.Live.time(b)
	}
	b.raw("</header>\n")
}

func (p *Page) overview(b *writer) {
	b.picture(p.Map)
	if p.Topology != nil {
		b.raw("<p class=\"hint\">Choose a box or a workload for its rows and neighbours, and two of them for the path between them.</p>\n")
	}
}

func (p *Page) paths(b *writer) {
	if p.Live != nil {
		p.Live.ask(b)
	}
	b.raw("<div id=\"answers\" aria-live=\"polite\">\n")
	for _, path := range p.Paths {
		path.write(b)
	}
	b.raw("</div>\n")
}

func (p *Page) reach(b *writer) {
	if p.Live != nil {
		p.Live.askReach(b)
	}
	b.raw("<div id=\"matrix\" aria-live=\"polite\">")
	if p.Reach != nil {
		b.picture(p.Reach)
	}
	b.raw("</div>\n")
}

// Matrix writes who can talk to whom as a part of a page that is shown.
func Matrix(w io.Writer, m *picture.Picture) error {
	var b writer
	b.picture(m)
	_, err := io.WriteString(w, b.String())
	return err
}

// hash is the source of an inline script or style sheet in a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A writer collects HTML.
type writer struct{ strings.Builder }

func (b *writer) raw(markup string) { b.WriteString(markup) }

// mostText is how much of one text of others is shown.
const mostText = 4000

// text writes text of others: visible, without markup, and no more of it than can be read.
func (b *writer) text(s string) { b.WriteString(html.EscapeString(escape.Line(cut(s, mostText)))) }

// element writes text in an element; nothing if there is none.
func (b *writer) element(tag, s string) {
	if s == "" {
		return
	}
	b.raw("<" + tag + ">")
	b.text(s)
	b.raw("</" + tag + ">\n")
}

// attribute writes an attribute of the tag that is open; nothing if it has no value.
func (b *writer) attribute(name, s string) {
	if s != "" {
		b.raw(" " + name + `="`)
		b.text(s)
		b.raw(`"`)
	}
}

func (b *writer) picture(p *picture.Picture) {
	b.raw(`<div class="sheet" tabindex="0" role="region" aria-label="picture">` + p.Element() + "</div>\n")
}

// row writes a term with its description; nothing if there is none.
func (b *writer) row(term, s string) {
	if s != "" {
		b.element("dt", term)
		b.element("dd", s)
	}
}

// code writes a command to copy; nothing if there is none.
func (b *writer) code(term, command string) {
	if command != "" {
		b.element("dt", term)
		b.raw("<dd><code>")
		b.text(command)
		b.raw("</code></dd>\n")
	}
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

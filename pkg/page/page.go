// Package page puts answers about a deployment into one HTML file, for tickets and post-mortems.
//
// The file needs no network and may do nothing but show itself: its content security policy names the one script and the one
// style sheet that are in it. All that comes from a deployment is text.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Page is what the file shows.
type Page struct {
	Title    string
	Sources  []string // what was read
	Time     string   // when
	Notes    []string
	Result   string // of the findings, in a few words
	Map      *picture.Picture
	Findings []Finding
	Paths    []Path
	Reach    *picture.Picture // nil if it was not asked for
	Topology *topology.Topology
}

// A Finding is a fault, with the number that it has on the map.
type Finding struct {
	Level    string // "error", "warning"
	Title    string
	Check    string // and where
	Evidence []string
	Cause    string
	Effect   string
	Fix      string // a command
	Next     string
	Under    []string // findings that it explains
}

// A Path is a packet that was followed.
type Path struct {
	Title   string
	Picture *picture.Picture
	Text    string
}

var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	data, err := p.data()
	if err != nil {
		return err
	}
	css := style + picture.Styles()
	var b writer
	b.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.raw(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ` + hash(css) + `; script-src ` + hash(script) + `; base-uri 'none'; form-action 'none'">` + "\n")
	b.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n<title>")
	b.text(p.Title)
	b.raw("</title>\n<style>" + css + "</style>\n</head>\n<body>\n")
	p.header(&b)
	b.raw("<main>\n")
	p.overview(&b)
	p.findings(&b)
	p.paths(&b)
	if p.Reach != nil {
		b.raw("<section id=\"reach\"><h2>Who can talk to whom</h2>\n")
		b.picture(p.Reach)
		b.raw("</section>\n")
	}
	b.raw("</main>\n")
	b.raw("<aside id=\"object\" aria-label=\"The chosen object\" aria-live=\"polite\" hidden></aside>\n")
	b.raw("<script type=\"application/json\" id=\"data\">" + data + "</script>\n<script>" + script + "</script>\n</body>\n</html>\n")
	_, err = io.WriteString(w, b.String())
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

func (b *writer) picture(p *picture.Picture) {
	b.raw("<div class=\"sheet\" tabindex=\"0\">" + p.Element() + "</div>\n")
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func (p *Page) header(b *writer) {
	b.raw("<header>\n")
	b.element("h1", p.Title)
	b.raw("<p class=\"source\">")
	b.text(strings.Join(append([]string{p.Time}, p.Sources...), "  ·  "))
	b.raw("</p>\n<nav aria-label=\"Sections\"><a href=\"#overview\">Overview</a> <a href=\"#findings\">Findings</a> <a href=\"#paths\">Paths</a>")
	if p.Reach != nil {
		b.raw(" <a href=\"#reach\">Reach</a>")
	}
	b.raw("</nav>\n<div class=\"search\" role=\"search\"><label for=\"search\">Search</label> <input id=\"search\" type=\"search\" autocomplete=\"off\" " +
		"placeholder=\"pod, address, switch, UUID\"><ul id=\"hits\" hidden></ul></div>\n</header>\n")
}

func (p *Page) overview(b *writer) {
	b.raw("<section id=\"overview\"><h2>Overview</h2>\n")
	for _, n := range p.Notes {
		b.element("p", "note: "+n)
	}
	b.picture(p.Map)
	b.raw("<p class=\"hint\">Choose a box or a workload for its rows and neighbours.</p></section>\n")
}

func (p *Page) findings(b *writer) {
	b.raw("<section id=\"findings\"><h2>Findings</h2>\n")
	b.element("p", p.Result)
	for i, f := range p.Findings {
		b.raw(`<article class="` + map[bool]string{true: "error", false: "warning"}[f.Level == "error"] + `">`)
		b.element("h3", fmt.Sprintf("%d  %s  %s", i+1, strings.ToUpper(f.Level), f.Title))
		b.element("p", f.Check)
		b.raw("<dl>\n")
		for _, e := range f.Evidence {
			b.row("seen", "dd", e)
		}
		b.row("cause", "dd", f.Cause)
		b.row("breaks", "dd", f.Effect)
		if f.Fix != "" {
			b.raw("<dt>fix</dt><dd><code>")
			b.text(f.Fix)
			b.raw("</code></dd>\n")
		}
		b.row("next", "dd", f.Next)
		for _, u := range f.Under {
			b.row("also caused by this", "dd", u)
		}
		b.raw("</dl></article>\n")
	}
	b.raw("</section>\n")
}

// row writes a term with its description; nothing if there is none.
func (b *writer) row(term, tag, s string) {
	if s != "" {
		b.element("dt", term)
		b.element(tag, s)
	}
}

func (p *Page) paths(b *writer) {
	b.raw("<section id=\"paths\"><h2>Paths</h2>\n")
	if len(p.Paths) == 0 {
		b.raw("<p>No path was asked for: <code>--trace 'FROM TO tcp/PORT'</code> adds one.</p>\n")
	}
	for _, path := range p.Paths {
		b.element("h3", path.Title)
		b.picture(path.Picture)
		b.raw("<details><summary>hop by hop</summary><pre>")
		for line := range strings.Lines(path.Text) {
			b.text(strings.TrimSuffix(line, "\n"))
			b.raw("\n")
		}
		b.raw("</pre></details>\n")
	}
	b.raw("</section>\n")
}

// mostTunnels is how many tunnels are in the data: in a large mesh only those that are not up.
const mostTunnels = 100

// data is the topology as JSON that can be in a page: json.Marshal escapes what could end the element.
func (p *Page) data() (string, error) {
	t := *p.Topology
	if len(t.Tunnels) > mostTunnels {
		var some []*topology.Tunnel
		for _, tunnel := range t.Tunnels {
			if tunnel.State != topology.StateUp && len(some) < mostTunnels {
				some = append(some, tunnel)
			}
		}
		t.Tunnels = some
	}
	b, err := json.Marshal(&t)
	if err != nil {
		return "", err
	}
	var values any
	if err := json.Unmarshal(b, &values); err != nil {
		return "", err
	}
	b, err = json.Marshal(shown(values))
	return string(b), err
}

// mostValue is how much of a value in the data is kept.
const mostValue = 600

// shown returns values with their texts as they can be shown, and without what is empty.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		return escape.Line(cut(v, mostValue))
	case []any:
		for i := range v {
			v[i] = shown(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			switch list, isList := value.([]any); {
			case value == nil, isList && len(list) == 0:
			default:
				out[escape.Line(cut(key, mostValue))] = shown(value)
			}
		}
		return out
	}
	return v
}

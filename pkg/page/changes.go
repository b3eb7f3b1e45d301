package page

import "github.com/ovnctl/ovnctl/pkg/picture"

// Changes are what differs between two states: a slider uncovers the later one.
type Changes struct {
	Before, After   *picture.Picture
	BeforeIs, NowIs string // their sources
	Lines           []string
}

func (c *Changes) write(b *writer) {
	b.raw(`<div class="slider"><label for="slide">Before</label> <input id="slide" type="range" min="0" max="100" value="50" aria-label="How much of the later state is shown"> <span>After</span></div>` + "\n")
	b.raw("<p class=\"source\">")
	b.text(c.BeforeIs + "  →  " + c.NowIs)
	b.raw("</p>\n<div class=\"states\" tabindex=\"0\" role=\"region\" aria-label=\"the two states\">\n<div class=\"before\">" + c.Before.Element() + "</div>\n<div class=\"after\">" + c.After.Element() + "</div>\n</div>\n<pre tabindex=\"0\">")
	for _, l := range c.Lines {
		b.text(l)
		b.raw("\n")
	}
	b.raw("</pre>\n")
}

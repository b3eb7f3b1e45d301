package page

import (
	"slices"
	"strconv"
)

// Live is what a page that is served can ask.
type Live struct {
	At      string   `json:"at,omitempty"`      // of the moments, the one that is shown; empty for now
	Moments []Moment `json:"moments,omitempty"` // of a record, in order
	Saved   bool     `json:"saved,omitempty"`   // what was read does not change
}

// A Moment is a time at which something changed.
type Moment struct {
	At   string `json:"at"`   // as it is asked for
	Text string `json:"text"` // and told
}

// time writes the slider over a record.
func (l *Live) time(b *writer) {
	if len(l.Moments) == 0 {
		if l.Saved {
			return
		}
		b.raw("<p class=\"again\"><button type=\"button\" id=\"again\">Look again</button></p>\n")
		return
	}
	at := slices.IndexFunc(l.Moments, func(m Moment) bool { return m.At == l.At })
	if at < 0 {
		at = len(l.Moments) - 1
	}
	b.raw(`<p class="time"><button type="button" id="earlier" aria-label="earlier">◀</button> <input type="range" id="moment" min="0" max="` +
		strconv.Itoa(len(l.Moments)-1) + `" value="` + strconv.Itoa(at) + `" aria-label="moment of the record"> <button type="button" id="later" aria-label="later">▶</button> <output id="told" for="moment">`)
	b.text(l.Moments[at].Text)
	b.raw("</output></p>\n")
}

const protocols = `<label>protocol <select name="protocol"><option>icmp</option><option>tcp</option><option>udp</option></select></label>
<label>port <input name="port" type="number" min="1" max="65535" disabled></label>`

// ask writes the form that asks for a path.
func (l *Live) ask(b *writer) {
	b.raw(`<form id="ask"><label>from <input name="from" list="names" autocomplete="off" required spellcheck="false"></label>
<label>to <input name="to" list="names" autocomplete="off" required spellcheck="false"></label>
` + protocols + `
<button type="submit">Trace</button> <datalist id="names"></datalist></form>
<p id="said" role="status"></p>
`)
}

// askReach writes the form that asks who can talk to whom.
func (l *Live) askReach(b *writer) {
	b.raw(`<form id="ask-reach">` + protocols + `
<button type="submit">Ask</button></form>
<p id="said-reach" role="status"></p>
`)
}

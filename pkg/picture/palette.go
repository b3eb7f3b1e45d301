package picture

import "strings"

// A state is how an object is: it has a colour, and a shape that says the same.
type state int

const (
	plain state = iota // has no state
	good
	unknown
	odd // works, but not as it should
	bad
)

// A look is how text is written.
type look struct {
	class string
	size  float64
	bold  bool
}

var (
	heading = look{"ink", 20, true}
	title   = look{"ink", 15, true}
	name    = look{"ink", 13, true}
	item    = look{"ink", 12, false}
	remark  = look{"soft", 11, false}
	alarm   = look{"alarm", 13, true}
	alarmed = look{"alarm", 12, false}

	badge = look{"on-badge", 11, true}

	alarmSmall = look{"alarm", 11, true}
	remarkBad  = look{"alarm", 11, false}
)

// A paint is what a class looks like by day and by night. Text classes have a fill alone.
type paint struct {
	class              string
	fill, nightFill    string
	stroke, nightColor string
	more               string
}

// paints are the classes of all pictures. Those of text keep a contrast of 4.5 and more to every fill below them.
var paints = []paint{
	{class: "page", fill: "#ffffff", nightFill: "#0d1117"},
	{class: "place", fill: "#f6f8fa", nightFill: "#161b22", stroke: "#8c959f", nightColor: "#484f58", more: "stroke-width:1.5"},
	{class: "place-bad", fill: "#f6f8fa", nightFill: "#161b22", stroke: "#c4281c", nightColor: "#ff8a80", more: "stroke-width:2.5"},
	{class: "router", fill: "#e4edfd", nightFill: "#14243f", stroke: "#2f63c6", nightColor: "#6ea8fe"},
	{class: "switch", fill: "#e0f2ef", nightFill: "#0f2f2c", stroke: "#16756c", nightColor: "#4fc1b4"},
	{class: "bridge", fill: "#ebedf0", nightFill: "#262c34", stroke: "#656d76", nightColor: "#8b949e"},
	{class: "wire", fill: "#ffffff", nightFill: "#0d1117", stroke: "#656d76", nightColor: "#8b949e"},
	{class: "broken", fill: "#fdeae8", nightFill: "#3b1513", stroke: "#c4281c", nightColor: "#ff8a80", more: "stroke-width:2"},
	{class: "warned", fill: "#fff3d1", nightFill: "#332701", stroke: "#8a5d00", nightColor: "#e3b341", more: "stroke-width:1.5"},
	{class: "fine-cell", fill: "#e0f2ef", nightFill: "#0f2f2c"},
	{class: "lost-cell", fill: "#fbd9d5", nightFill: "#4a1a17"},
	{class: "odd-cell", fill: "#fff3d1", nightFill: "#332701"},
	{class: "absent", fill: "#ffffff", nightFill: "#0d1117", stroke: "#656d76", nightColor: "#8b949e", more: "stroke-dasharray:4 3"},
	{class: "ink", fill: "#1f2328", nightFill: "#e6edf3"},
	{class: "soft", fill: "#4b535d", nightFill: "#aab4c0"},
	{class: "alarm", fill: "#a31b10", nightFill: "#ffb4ab"},
	{class: "badge", fill: "#44505c", nightFill: "#aab4c0"},
	{class: "badge-odd", fill: "#7a5200", nightFill: "#f0c95b"},
	{class: "badge-bad", fill: "#a31b10", nightFill: "#ffb4ab"},
	{class: "on-badge", fill: "#ffffff", nightFill: "#16181c"},
	{class: "link", fill: "none", nightFill: "none", stroke: "#7d8792", nightColor: "#6e7681", more: "stroke-width:1.3"},
	{class: "tunnel", fill: "none", nightFill: "none", stroke: "#656d76", nightColor: "#8b949e", more: "stroke-width:2;stroke-dasharray:7 3"},
	{class: "tunnel-bad", fill: "none", nightFill: "none", stroke: "#c4281c", nightColor: "#ff8a80", more: "stroke-width:2.5;stroke-dasharray:2 4"},
	{class: "forward", fill: "none", nightFill: "none", stroke: "#0b57d0", nightColor: "#7cb0ff", more: "stroke-width:5;stroke-linejoin:round"},
	{class: "forward-dot", fill: "#ffffff", nightFill: "#0d1117", stroke: "#0b57d0", nightColor: "#7cb0ff", more: "stroke-width:2.5"},
	{class: "forward-head", fill: "#0b57d0", nightFill: "#7cb0ff"},
	{class: "reply", fill: "none", nightFill: "none", stroke: "#b25000", nightColor: "#ffb870", more: "stroke-width:3.5;stroke-dasharray:9 4;stroke-linejoin:round"},
	{class: "reply-dot", fill: "#ffffff", nightFill: "#0d1117", stroke: "#b25000", nightColor: "#ffb870", more: "stroke-width:2"},
	{class: "reply-head", fill: "#b25000", nightFill: "#ffb870"},
	{class: "cross", fill: "none", nightFill: "none", stroke: "#c4281c", nightColor: "#ff8a80", more: "stroke-width:2.6;stroke-linecap:round"},
	{class: "alert", fill: "#ffd866", nightFill: "#5c4700", stroke: "#8a5d00", nightColor: "#e3b341", more: "stroke-width:1.4;stroke-linejoin:round"},
	{class: "doubt", fill: "none", nightFill: "none", stroke: "#4b535d", nightColor: "#aab4c0", more: "stroke-width:1.6"},
	{class: "fine", fill: "#0a7d58", nightFill: "#3fb98a"},
}

// Styles returns the style sheet of all pictures: plain rules, as not every viewer knows variables.
func Styles() string {
	var day, night strings.Builder
	for _, p := range paints {
		rule(&day, p.class, p.fill, p.stroke, p.more)
		rule(&night, p.class, p.nightFill, p.nightColor, "")
	}
	return day.String() + "@media(prefers-color-scheme:dark){" + night.String() + "}"
}

func rule(b *strings.Builder, class, fill, stroke, more string) {
	b.WriteString("." + class + "{fill:" + fill)
	if stroke != "" {
		b.WriteString(";stroke:" + stroke)
	}
	if more != "" {
		b.WriteString(";" + more)
	}
	b.WriteString("}")
}

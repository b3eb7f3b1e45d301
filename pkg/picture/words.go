package picture

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// fonts are those that systems have. The widest of them is DejaVu Sans: what fits in that fits in all.
const fonts = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

// Widths of the characters from blank to tilde in DejaVu Sans, in hundredths of the size of the font.
var (
	regularWidths = [...]int{
		32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53,
		100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50,
		50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
	}
	boldWidths = [...]int{
		35, 46, 52, 84, 70, 100, 87, 31, 46, 46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40, 84, 84, 84, 58,
		100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85, 73, 85, 77, 72, 68, 81, 77, 110, 77, 72, 73, 46, 37, 46, 84, 50,
		50, 67, 72, 59, 72, 68, 44, 72, 71, 34, 34, 67, 34, 104, 71, 69, 72, 72, 49, 60, 48, 71, 65, 92, 65, 65, 58, 71, 37, 71, 84,
	}
)

// Widths of other characters: the widest of scripts like Latin, and of those that take two columns in a terminal.
const (
	otherWidth = 110
	wideWidth  = 140
)

func widthOf(s string, l look) float64 { return Width(s, l.size, l.bold) }

// Width returns how wide text is at most, whichever of the fonts of a picture a system has.
func Width(s string, size float64, bold bool) float64 {
	widths := &regularWidths
	if bold {
		widths = &boldWidths
	}
	n := 0
	for _, r := range s {
		switch {
		case ' ' <= r && r <= '~':
			n += widths[r-' ']
		case displaywidth.Rune(r) > 1:
			n += wideWidth
		default:
			n += otherWidth
		}
	}
	return float64(n) * size / 100
}

// fit cuts text so that it fits into a width.
func fit(s string, l look, width float64) string {
	return Cut(escape.Line(cutTo(s, mostTold)), "…", func(s string) bool { return widthOf(s, l) <= width })
}

// Cut replaces the middle of text with dots until it fits: names differ at their ends. It is empty if not even two characters do.
func Cut(s, dots string, fits func(string) bool) string {
	if fits(s) {
		return s
	}
	runes := []rune(s)
	keeping := func(n int) string { return string(runes[:(n+1)/2]) + dots + string(runes[len(runes)-n/2:]) }
	tooMany := sort.Search(len(runes), func(n int) bool { return !fits(keeping(n)) })
	if tooMany <= 2 {
		return ""
	}
	return keeping(tooMany - 1)
}

// cutTo cuts text to so many characters.
func cutTo(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// mostWords is how many characters are looked at to break text into lines.
const mostWords = 2000

// wrap breaks text into lines of a width, and cuts what is more than most lines.
func wrap(s string, l look, width float64, most int) []string {
	var lines []string
	rest := strings.TrimSpace(escape.Line(cutTo(s, mostWords)))
	for rest != "" {
		line := head(rest, l, width)
		if len(lines) == most-1 && len(line) < len(rest) {
			return append(lines, strings.TrimSpace(head(rest, l, width-widthOf("…", l)))+"…")
		}
		lines = append(lines, strings.TrimSpace(line))
		rest = strings.TrimSpace(rest[len(line):])
	}
	return lines
}

// head returns the longest beginning that fits into a width: whole words if one fits, and at least a character.
func head(s string, l look, width float64) string {
	end, blank := 0, 0
	for i, r := range s {
		if end > 0 && widthOf(s[:i+utf8.RuneLen(r)], l) > width {
			if blank > 0 {
				return s[:blank]
			}
			return s[:end]
		}
		end = i + utf8.RuneLen(r)
		if r == ' ' {
			blank = end
		}
	}
	return s
}

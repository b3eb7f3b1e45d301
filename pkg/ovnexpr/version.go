package ovnexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// A Version is a release of OVN, such as 2303 for 23.03. The zero Version stands for all releases together: whatever
// any of them knows, in its newest meaning.
type Version int

// ParseVersion reads the release from texts such as "23.03", "23.03.1" and "23.03.1-20.27.0-70.6".
func ParseVersion(s string) (Version, error) {
	year, rest, _ := strings.Cut(s, ".")
	month, _, _ := strings.Cut(rest, ".")
	month, _, _ = strings.Cut(month, "-")
	y, err1 := strconv.ParseUint(year, 10, 7)
	m, err2 := strconv.ParseUint(month, 10, 7)
	if err1 != nil || err2 != nil || m < 1 || m > 12 || y == 0 {
		return 0, fmt.Errorf("OVN version %q: want YEAR.MONTH, such as 23.03", s)
	}
	return Version(y*100 + m), nil
}

// String writes the release as OVN numbers it; the zero Version is "any".
func (v Version) String() string {
	if v == 0 {
		return "any"
	}
	return fmt.Sprintf("%02d.%02d", v/100, v%100)
}

// within reports whether the release has what came in one release and went in another.
func (v Version) within(since, until Version) bool {
	if v == 0 {
		return until == 0
	}
	return v >= since && (until == 0 || v < until)
}

package decode

import (
	"fmt"
	"strconv"
	"strings"
)

// A Version is an OVN release, year, month and patch as in "23.03.1". The zero
// Version means that the release is unknown.
type Version struct{ Year, Month, Patch int }

// ParseVersion reads the release out of any of the texts that carry one:
// SB_Global options:northd_internal_version ("23.03.1-20.27.0-70.6"), the
// answer of `ovn-appctl -t ovn-controller version` ("ovn-controller
// 23.03.1\n…"), or a plain "23.03.1". It returns the zero Version when there
// is none.
func ParseVersion(text string) Version {
	if len(text) > 4096 {
		text = text[:4096]
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '.' && (r < '0' || r > '9')
	}) {
		parts := strings.Split(word, ".")
		if len(parts) != 3 || len(parts[0]) != 2 || len(parts[1]) != 2 {
			continue
		}
		var n [3]int
		ok := true
		for i, part := range parts {
			var err error
			n[i], err = strconv.Atoi(part)
			ok = ok && err == nil && len(part) <= 3
		}
		// A schema's version (20.27.0, 21.5.0) is no month, but for those of
		// 2020, and it stands behind the release.
		if ok && n[0] >= 20 && n[1] >= 1 && n[1] <= 12 {
			return Version{n[0], n[1], n[2]}
		}
	}
	return Version{}
}

// String returns the release as OVN writes it, or "unknown release".
func (v Version) String() string {
	if v == (Version{}) {
		return "unknown release"
	}
	return fmt.Sprintf("%02d.%02d.%d", v.Year, v.Month, v.Patch)
}

// series returns the release without its patch as one number, 2303 for 23.03.1.
func (v Version) series() int { return v.Year*100 + v.Month }

// atLeast reports whether v is the release year.month.patch or a later one of
// the same or of a later series.
func (v Version) atLeast(year, month, patch int) bool {
	if s := year*100 + month; v.series() != s {
		return v.series() > s
	}
	return v.Patch >= patch
}

// in reports whether v lies in one of spans: "23.03" is every patch of that
// series, "23.03.1" exactly one release, "23.03.1+" it and later patches of
// its series.
func (v Version) in(spans string) bool {
	for _, span := range strings.Fields(spans) {
		patch, open := -1, strings.HasSuffix(span, "+")
		parts := strings.Split(strings.TrimSuffix(span, "+"), ".")
		year, _ := strconv.Atoi(parts[0])
		month, _ := strconv.Atoi(parts[1])
		if len(parts) == 3 {
			patch, _ = strconv.Atoi(parts[2])
		}
		if v.Year != year || v.Month != month {
			continue
		}
		if patch < 0 || v.Patch == patch || open && v.Patch > patch {
			return true
		}
	}
	return false
}

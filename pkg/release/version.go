package release

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Version is an OVN release, year, month and patch as in "23.03.1". The zero
// Version means that the release is not known.
type Version struct{ Year, Month, Patch int }

// Parse extracts the release from any of the texts that carry one: SB_Global options:northd_internal_version
// ("23.03.1-20.27.0-70.6"), the reply to `ovn-appctl -t ovn-controller version` ("ovn-controller 23.03.1\n…"), or a
// plain "23.03.1". It returns the zero Version if there is none.
func Parse(text string) Version {
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
		// A schema version (20.27.0, 21.5.0) has no valid month, except in 2020, and follows the release.
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

// Series returns the release without its patch.
func (v Version) Series() Series { return Series(v.Year*100 + v.Month) }

// atLeast reports whether v is since or a later release of the same or of a later series.
func (v Version) atLeast(since Version) bool {
	if v.Series() != since.Series() {
		return v.Series() > since.Series()
	}
	return v.Patch >= since.Patch
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

// A Series is a release of OVN without its patch, 2303 for 23.03. The zero Series stands for all of them: whatever
// any supports, in its newest meaning.
type Series int

// ParseSeries reads the release from texts such as "23.03", "23.03.1" and "23.03.1-20.27.0-70.6".
func ParseSeries(text string) (Series, error) {
	year, rest, _ := strings.Cut(text, ".")
	month, _, _ := strings.Cut(rest, ".")
	month, _, _ = strings.Cut(month, "-")
	y, err1 := strconv.ParseUint(year, 10, 7)
	m, err2 := strconv.ParseUint(month, 10, 7)
	if err1 != nil || err2 != nil || m < 1 || m > 12 || y == 0 {
		return 0, fmt.Errorf("OVN version %q: want YEAR.MONTH, such as 23.03", text)
	}
	return Series(y*100 + m), nil
}

// String writes the series as OVN numbers it; the zero Series is "any".
func (s Series) String() string {
	if s == 0 {
		return "any"
	}
	return fmt.Sprintf("%02d.%02d", s/100, s%100)
}

// Has reports whether the series has what since added.
func (s Series) Has(since Series) bool { return s.Within(since, 0) }

// Within reports whether the series has what since added and until removed.
func (s Series) Within(since, until Series) bool {
	if s == 0 {
		return until == 0
	}
	return s >= since && (until == 0 || s < until)
}

// Older reports whether a version such as "3.1.0" or "7.0" precedes another. Anything but a version is not older.
func Older(a, b string) bool {
	x, y := numbers(a), numbers(b)
	return x != nil && y != nil && slices.Compare(x, y) < 0
}

// AtLeast reports whether a version such as "3.1.0" equals least or follows it. Anything but a version does not.
func AtLeast(version, least string) bool {
	return numbers(version) != nil && !Older(version, least)
}

// numbers returns the parts of a version; nil if it is not one.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

package record

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// TimeFormat is how moments are shown; Moment reads it.
const TimeFormat = "2006-01-02T15:04:05.000"

// Split splits DIR@MOMENT, where DIR is a record; false if it is none. A record alone stands for its last moment.
func Split(source string) (dir, moment string, ok bool) {
	if Is(source) {
		return source, "", true
	}
	if _, err := os.Stat(source); err == nil { // a file with an @ in its name
		return "", "", false
	}
	i := strings.LastIndexByte(source, '@')
	if i < 1 || !Is(source[:i]) {
		return "", "", false
	}
	return source[:i], source[i+1:], true
}

// clocks are the ways to write a time of day, dates those of a whole date.
var (
	clocks = []string{"15:04", "15:04:05", "15:04:05.999999999"}
	dates  = []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"}
)

// Moment returns the moment that a text means: 09:12, 09:12:03.250, 2026-11-26 09:12, the same with a zone as RFC 3339 has
// it, or -15m, before the end of the record. No text means the end. A time of day is the last one in the record. Times
// without a zone are local.
func (r *Record) Moment(text string) (time.Time, error) {
	t, err := r.parse(text)
	if err == nil {
		err = r.Within(t)
	}
	if err != nil {
		return t, fmt.Errorf("%s@%s: %w", r.dir, text, err)
	}
	return t, nil
}

func (r *Record) parse(text string) (time.Time, error) {
	if text == "" {
		return r.to, nil
	}
	if strings.HasPrefix(text, "-") {
		d, err := time.ParseDuration(text)
		if err == nil {
			return r.to.Add(d), nil
		}
	}
	for _, layout := range clocks {
		clock, err := time.ParseInLocation(layout, text, time.Local)
		if err != nil {
			continue
		}
		y, m, d := r.to.Local().Date()
		t := time.Date(y, m, d, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		if t.After(r.to) {
			if before := t.AddDate(0, 0, -1); !before.Before(r.from) {
				t = before
			}
		}
		return t, nil
	}
	for _, layout := range dates {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%.40q is no moment\nhint: @09:12, @09:12:03.250, @2026-11-26T09:12 or @-15m, before the end of the record", text)
}

// Within returns an error if a moment is not in the record, in words.
func (r *Record) Within(t time.Time) error {
	switch {
	case t.Before(r.from):
		return fmt.Errorf("the record begins at %s", r.from.Local().Format(TimeFormat))
	case t.After(r.to):
		return fmt.Errorf("the record ends at %s", r.to.Local().Format(TimeFormat))
	}
	return nil
}

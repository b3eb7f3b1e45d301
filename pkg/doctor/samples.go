package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Samples are one or two readings of a host.
type Samples[T any] struct {
	*snapshot.Host
	First, Second T
	Both          bool  // there is a second sample
	err           error // why there is no first, or no required second sample
}

// ErrNothing means that a host has nothing that a check reads.
var ErrNothing = errors.New("nothing to read")

// OnRead is the Host of a check that reads something of a host. One where that fails is reported as unknown.
func OnRead[T any](read func(*snapshot.Host) (T, error), look func(*Pass, *snapshot.Host, T)) func(*Pass, *snapshot.Host) {
	return func(p *Pass, h *snapshot.Host) {
		value, err := read(h)
		switch {
		case err == nil:
			look(p, h, value)
		case !absent(err):
			p.Unknown(NodeObject(h.Name), err)
		}
	}
}

// absent reports whether a host has nothing to read for a reason that is no trouble, or that another check finds: a daemon that does not run.
func absent(err error) bool {
	return errors.Is(err, snapshot.ErrNotRunning) || errors.Is(err, ErrNothing)
}

// TakeSamples reads the hosts side by side, and if one sample is not enough, again after --sample. Hosts where that fails are reported as unknown;
// the rest are returned.
func TakeSamples[T any](p *Pass, read func(*snapshot.Host) (T, error), needsTwo func(T) bool) []Samples[T] {
	all := make([]Samples[T], len(p.Hosts))
	for i, h := range p.Hosts {
		all[i].Host = h
	}
	p.SideBySide(len(all), func(i int) { all[i].First, all[i].err = read(all[i].Host) })
	var again []*Samples[T]
	for s := range Each(all) {
		if s.err == nil && needsTwo(s.First) {
			again = append(again, s)
		}
	}
	if len(again) > 0 {
		later, err := p.Later()
		p.SideBySide(len(again), func(i int) { again[i].readAgain(later, err, read) })
	}
	var good []Samples[T]
	noSample := false
	for _, s := range all {
		switch {
		case s.err == nil:
			good = append(good, s)
		case errors.Is(s.err, snapshot.ErrNoSample):
			good = append(good, s)
			if !noSample { // once for all hosts
				p.Unknown(Object{}, s.err)
			}
			noSample = true
		case absent(s.err):
		default:
			p.Unknown(NodeObject(s.Name), s.err)
		}
	}
	return good
}

// readAgain takes the second sample from the later snapshot, unless that failed.
func (s *Samples[T]) readAgain(later *snapshot.Deployment, failed error, read func(*snapshot.Host) (T, error)) {
	if s.err = failed; failed != nil {
		return
	}
	h := later.Host(s.Name)
	if h == nil {
		s.err = fmt.Errorf("%s was not found for the second sample", s.Name)
		return
	}
	s.Second, s.err = read(h)
	s.Both = s.err == nil
}

// Increase returns a counter's growth between two samples; 0 if it was reset.
func Increase[N int | int64 | uint64](first, second N) N {
	if second < first {
		return 0
	}
	return second - first
}

// CounterEvidence is a counter in two samples.
func CounterEvidence(source Source, first, second uint64, apart time.Duration) Evidence {
	return Evidence{Source: source, Says: fmt.Sprintf("%d, and %d after %s", first, second, apart)}
}

// logged are lines of a daemon's log that contain one of some texts.
type logged []snapshot.LogLine

// LogLines returns the lines of a daemon's log that contain one of some texts, in order. They stay when the host's log is forgotten.
func LogLines(h *snapshot.Host, daemon string, texts ...string) ([]snapshot.LogLine, error) {
	return snapshot.Distil(h, daemon+"\x00"+strings.Join(texts, "\x00"), func() (logged, error) {
		log, err := h.Log(daemon)
		if err != nil {
			return nil, err
		}
		var found strings.Builder
		for line := range strings.Lines(log) {
			if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(line, t) }) {
				found.WriteString(line)
			}
		}
		return snapshot.ParseLog(found.String()), nil
	})
}

// LastLogged returns the last of [LogLines]; zero if there is none, or no log.
func LastLogged(h *snapshot.Host, daemon string, texts ...string) (last snapshot.LogLine) {
	if lines, err := LogLines(h, daemon, texts...); err == nil && len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	return last
}

// InLastHour reports whether a line was written in the hour before the snapshot.
func InLastHour(d *snapshot.Deployment, l snapshot.LogLine) bool {
	return d.Now().Sub(l.Time) < time.Hour
}

// LogEvidence is a line of a daemon's log with its time.
func LogEvidence(daemon string, l snapshot.LogLine) Evidence {
	return Evidence{Source: Log(daemon), Says: l.Time.UTC().Format("2006-01-02 15:04:05Z ") + Shorten(l.Text, 300)}
}

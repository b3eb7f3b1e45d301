package doctor

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A look is what was read of a host, and where needed what it was some seconds
// later.
type Samples[T any] struct {
	*snapshot.Host
	First, Second T
	Both          bool  // there is a second
	err           error // why there is no first, or no second where one is needed
}

// twice reads something of each host that is meant to have an Open vSwitch, side
// by side. Where one look does not do, it reads it again after --sample. Hosts
// whose source does not hold it are told as unknown, as are those that failed;
// what is returned was read.
func Sampled[T any](p *Pass, read func(*snapshot.Host) (T, error), needsTwo func(T) bool) []Samples[T] {
	looks := make([]Samples[T], len(p.Hosts))
	each := func(f func(*Samples[T])) {
		var wg sync.WaitGroup
		for i := range looks {
			if looks[i].err == nil {
				wg.Go(func() { f(&looks[i]) })
			}
		}
		wg.Wait()
	}
	for i, h := range p.Hosts {
		looks[i].Host = h
	}
	each(func(l *Samples[T]) { l.First, l.err = read(l.Host) })
	two := false
	for i := range looks {
		two = two || looks[i].err == nil && needsTwo(looks[i].First)
	}
	if two {
		later, err := p.Later()
		each(func(l *Samples[T]) {
			if !needsTwo(l.First) {
				return
			}
			if err != nil {
				l.err = err
				return
			}
			again := later.Host(l.Name)
			if again == nil {
				l.err = fmt.Errorf("%s was not there at the second look", l.Name)
				return
			}
			l.Second, l.err = read(again)
			l.Both = l.err == nil
		})
	}
	var good []Samples[T]
	short := false // of a second look
	for _, l := range looks {
		switch {
		case l.err == nil:
			good = append(good, l)
		case errors.Is(l.err, snapshot.ErrNoSample):
			good = append(good, l)
			if !short { // once for all hosts
				p.Unknown(Object{}, l.err)
			}
			short = true
		case errors.Is(l.err, snapshot.ErrNotRunning) || errors.Is(l.err, ErrNothing):
			// A daemon that does not run is another check's matter.
		default:
			p.Unknown(NodeObject(l.Name), l.err)
		}
	}
	return good
}

// errNothing says that a host has nothing of what a check looks at.
var ErrNothing = errors.New("nothing to look at")

// grew is by how much a counter grew; of one that was set back it is nothing.
func Grew[N int | int64 | uint64](first, second N) N {
	if second < first {
		return 0
	}
	return second - first
}

// A logLine is a line of a log.
type LogLine struct {
	time time.Time // zero: it has none
	Text string    // behind the number and the module: "WARN|over 4096 …" without the rest
}

// logged are the lines of a daemon's log that hold a text, in order.
func Logged(h *snapshot.Host, daemon, text string) ([]LogLine, error) {
	log, err := h.Log(daemon)
	if err != nil {
		return nil, err
	}
	var lines []LogLine
	for line := range strings.Lines(log) {
		if !strings.Contains(line, text) {
			continue
		}
		l := LogLine{Text: strings.TrimSpace(line)}
		stamp, rest, _ := strings.Cut(l.Text, "|")
		if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			l.time = t
			if f := strings.SplitN(rest, "|", 4); len(f) == 4 { // NUMBER|MODULE|LEVEL|TEXT
				l.Text = f[3]
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// lately says whether a line is of the hour before the look.
func (l LogLine) Lately(d *snapshot.Deployment) bool {
	return !l.time.IsZero() && d.Time().Sub(l.time) < time.Hour
}

func (l LogLine) Evidence(daemon string) Evidence {
	return Evidence{Source: Log(daemon), Says: l.time.UTC().Format("2006-01-02 15:04:05Z ") + Shorten(l.Text, 300)}
}

// counted is a counter at two looks.
func CounterEvidence(source Source, first, second uint64, apart time.Duration) Evidence {
	return Evidence{Source: source, Says: fmt.Sprintf("%d, and %s later %d", first, apart, second)}
}

package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// once remembers what was read under a key, the error included. The zero value
// is ready.
type once struct {
	mu    sync.Mutex
	done  map[string]any // func() (T, error), each waiting for the one that reads
	reads []Read
}

// remember returns what read gives under a key, and calls it the first time only.
// Those who ask meanwhile wait for the same answer.
func remember[T any](o *once, key string, read func() (T, error)) (T, error) {
	o.mu.Lock()
	if o.done == nil {
		o.done = map[string]any{}
	}
	get, ok := o.done[key].(func() (T, error))
	if !ok {
		get = sync.OnceValues(func() (T, error) {
			start := time.Now()
			defer func() { o.timed(key, time.Since(start)) }()
			return read()
		})
		o.done[key] = get
	}
	o.mu.Unlock()
	return get()
}

// A Read is one question to a source, and how long the answer took.
type Read struct {
	What string        `json:"what"`
	Took time.Duration `json:"took"` // in nanoseconds
}

// sources are the beginnings of the keys under which a source itself is asked;
// what stands under others is made of these.
var sources = []string{
	"*evidence.", "evidence.", "answers ", "control\x00", "database ", "dial ", "dump ", "features ", "file ", "firewall", "glob ", "log ",
	"nat", "network", "pod ", "processes", "space ", "switch", "unit ",
}

func (o *once) timed(key string, took time.Duration) {
	if !slices.ContainsFunc(sources, func(s string) bool { return strings.HasPrefix(key, s) }) {
		return
	}
	what := strings.ReplaceAll(strings.TrimPrefix(key, "control\x00"), "\x00", " ")
	if _, table, ok := strings.Cut(what, "evidence."); ok {
		what = "rows of " + table
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads = append(o.reads, Read{what, took})
}

func (o *once) all(of string) []Read {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.reads)
	for i := range out {
		out[i].What = strings.TrimSpace(of + " " + out[i].What)
	}
	return out
}

// Reads are the questions to sources that were answered so far, the slowest
// first. Many are under way at a time.
func (d *Deployment) Reads() []Read {
	out := d.memo.all("")
	for _, z := range d.Zones {
		out = append(out, z.memo.all(z.Name)...)
	}
	for _, h := range d.Hosts {
		out = append(out, h.memo.all(h.Name)...)
	}
	slices.SortFunc(out, func(a, b Read) int { return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.What, b.What)) })
	return out
}

package snapshot

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A question identifies a read: its kind and its subject.
type question struct{ what, about string }

func (q question) String() string {
	return strings.TrimSpace(q.what + " " + strings.ReplaceAll(q.about, "\x00", " "))
}

// once caches the results of questions, including errors. The zero value is ready.
type once struct {
	timed bool // all reads are noted
	mu    sync.Mutex
	done  map[any]any // by question or derived: func() (T, error), each waiting for the first caller
	reads []Read
}

// remember returns the result of ask for a key, and calls it only the first time. Concurrent callers wait for the
// same result.
func remember[T any](o *once, key any, ask func() (T, error)) (T, error) {
	o.mu.Lock()
	if o.done == nil {
		o.done = map[any]any{}
	}
	get, ok := o.done[key].(func() (T, error))
	if !ok {
		get = sync.OnceValues(ask)
		o.done[key] = get
	}
	o.mu.Unlock()
	return get()
}

// read caches a source's reply, and how long it took.
func read[T any](o *once, q question, ask func() (T, error)) (T, error) {
	return remember(o, q, func() (T, error) {
		start := time.Now()
		reply, err := ask()
		o.note(q, time.Since(start), err)
		return reply, err
	})
}

// forget drops results: who asks again reads again.
func (o *once) forget(which func(key any) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := map[any]any{} // a map keeps the room of what was in it
	for key, get := range o.done {
		if !which(key) {
			left[key] = get
		}
	}
	o.done = left
}

func (o *once) note(q question, took time.Duration, err error) {
	if !o.timed && !errors.Is(err, ovsdb.ErrTooLarge) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads = append(o.reads, Read{q.String(), took, err})
}

// A Memory is a part of a snapshot that caches derived values: a *Deployment, a *Zone or a *Host.
type Memory interface{ memory() *once }

func (d *Deployment) memory() *once { return &d.memo }
func (z *Zone) memory() *once       { return &z.memo }
func (h *Host) memory() *once       { return &h.memo }

// Derive caches a value derived from other reads: one per type and subject.
func Derive[T any](of Memory, about string, from func() (T, error)) (T, error) {
	return remember(of.memory(), derived{typ: reflect.TypeFor[T](), about: about}, from)
}

// Distil is [Derive] for what is small and made of what [Host.Forget] drops, or of what is asked of a source for it alone: it stays.
func Distil[T any](of Memory, about string, from func() (T, error)) (T, error) {
	return remember(of.memory(), derived{reflect.TypeFor[T](), about, true}, from)
}

type derived struct {
	typ   reflect.Type
	about string
	stays bool // distilled
}

// A Read is one question to a source, and how long the reply took.
type Read struct {
	What string        `json:"what"`
	Took time.Duration `json:"took"` // in nanoseconds
	Err  error         `json:"-"`    // why there is no reply
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

// Reads returns the questions that sources have replied to so far, slowest first. Many run concurrently. Without Options.Timed they are only those
// whose reply was too large.
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

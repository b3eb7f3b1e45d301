// Package held keeps large values that can be made again from a smaller form: while nobody uses one it may be collected as garbage.
// What hundreds of nodes have is needed of a few at a time.
package held

import (
	"sync"
	"weak"
)

// A Value is such a value. It is safe for concurrent use.
type Value[T any] struct {
	again func() (*T, error)

	mu     sync.Mutex
	at     weak.Pointer[T]
	always *T // of what cannot be made again
}

// New returns a Value that is v, and that again makes anew: it must make the same. A nil again keeps v.
func New[T any](v *T, again func() (*T, error)) *Value[T] {
	if again == nil {
		return &Value[T]{always: v}
	}
	return &Value[T]{again: again, at: weak.Make(v)}
}

// Stays reports whether a source says of itself, by a method Stays, that it says the same whenever it is read: who keeps what it read need not.
func Stays(source any) bool {
	_, ok := source.(interface{ Stays() })
	return ok
}

// Get returns the value. The error is that of making it again.
func (h *Value[T]) Get() (*T, error) {
	if h.always != nil {
		return h.always, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if v := h.at.Value(); v != nil {
		return v, nil
	}
	v, err := h.again()
	if err != nil {
		return nil, err
	}
	h.at = weak.Make(v)
	return v, nil
}

// Package lazy makes a value when it is first asked for: every command pays for what is made when the program starts, and needs little of it.
package lazy

import "sync"

// A Value is made when it is first asked for. As a composite literal with a function that captures nothing, the compiler lays it out as
// data: unlike sync.OnceValue, it does nothing before main.
type Value[T any] struct {
	Make  func() T
	once  sync.Once
	value T
}

// Get returns what Make made, once. Several may ask at the same time. What it returns belongs to all of them: nobody changes it.
func (v *Value[T]) Get() T {
	v.once.Do(v.fill)
	return v.value
}

func (v *Value[T]) fill() { v.value = v.Make() }

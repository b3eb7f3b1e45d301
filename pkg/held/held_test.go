package held

import (
	"errors"
	"runtime"
	"testing"
)

type rows struct{ names []string }

// A value is the same while it is used, is made again after it was collected, and one that cannot be made again is not collected.
func TestValue(t *testing.T) {
	made := 0
	var trouble error
	again := func() (*rows, error) {
		made++
		return &rows{make([]string, 1000)}, trouble
	}
	first, _ := again()
	v := New(first, again)
	runtime.GC()
	if got, err := v.Get(); got != first || err != nil || made != 1 {
		t.Errorf("while it is used: another value, %v, made %d times", err, made)
	}
	runtime.KeepAlive(first)
	runtime.GC()
	if got, err := v.Get(); err != nil || len(got.names) != 1000 || made != 2 {
		t.Errorf("after it was collected: %v, made %d times", err, made)
	}
	runtime.GC()
	trouble = errors.New("no more")
	if _, err := v.Get(); !errors.Is(err, trouble) {
		t.Errorf("%v, want %v", err, trouble)
	}

	only := New(&rows{make([]string, 7)}, nil)
	runtime.GC()
	if got, err := only.Get(); err != nil || len(got.names) != 7 {
		t.Errorf("one that cannot be made again: %v", err)
	}
}

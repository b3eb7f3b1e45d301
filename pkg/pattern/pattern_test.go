package pattern

import (
	"sync"
	"testing"
)

func TestGet(t *testing.T) {
	p := New(`^a+$`)
	if p.compiled != nil {
		t.Error("compiled before it is used")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if first := p.Get(); !first.MatchString("aa") || p.Get() != first {
				t.Error("not the same pattern each time")
			}
		})
	}
	all.Wait()
	defer func() {
		if recover() == nil {
			t.Error("no panic for what is no pattern")
		}
	}()
	New(`(`).Get()
}

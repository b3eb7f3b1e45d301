package lazy

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestGet(t *testing.T) {
	var made atomic.Int32
	v := Value[map[string]int]{Make: func() map[string]int { made.Add(1); return map[string]int{"a": 1} }}
	if made.Load() != 0 {
		t.Error("made before it is asked for")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if v.Get()["a"] != 1 {
				t.Error("not what was made")
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

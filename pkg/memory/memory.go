// Package memory bounds what this process holds of what it reads, over all sources together: whoever reads much asks
// how much is left, and leaves out the rest.
package memory

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var limit atomic.Int64 // 0 for none

// SetLimit sets how many bytes may be held; there is no limit before.
func SetLimit(bytes int64) { limit.Store(bytes) }

// Limit returns how many bytes may be held.
func Limit() int64 {
	if bytes := limit.Load(); bytes != 0 {
		return bytes
	}
	return math.MaxInt64
}

var collecting sync.Mutex

// Left returns how many more bytes may be held, negative above the limit. It counts what is in use: what was read and
// dropped is collected before the last quarter of the limit is given up.
func Left() int64 {
	most := Limit()
	if most == math.MaxInt64 {
		return most
	}
	if left := most - heap(); left > most/4 {
		return left
	}
	collecting.Lock()
	defer collecting.Unlock()
	if left := most - heap(); left > most/4 { // another caller has just collected
		return left
	}
	runtime.GC()
	return most - heap()
}

// To count stops all goroutines for some 20 µs. While more than far and more than a quarter of the limit is left, what was counted
// a moment ago is good enough: nobody reads so much in it. The package runtime/metrics stops nobody, but sorts its table of names at
// each start of a program that imports it, which takes as long as the rest of what ovnctl itself does before main.
const (
	far    = 256 << 20
	moment = 10 * time.Millisecond
)

var counted struct {
	sync.Mutex
	at   time.Time
	heap int64
}

// heap returns the bytes of all objects, and of those that are not collected yet.
func heap() int64 {
	counted.Lock()
	defer counted.Unlock()
	if left := Limit() - counted.heap; left > max(far, Limit()/4) && time.Since(counted.at) < moment {
		return counted.heap
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	counted.at, counted.heap = time.Now(), int64(now.HeapAlloc)
	return counted.heap
}

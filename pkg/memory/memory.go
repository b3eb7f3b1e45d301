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
	if left := most - counted.bytes.Load(); left > most/4+plenty && time.Since(time.Unix(0, counted.at.Load())) < recent {
		return left
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

// counted is what the last count of the heap found, and when.
var counted struct{ bytes, at atomic.Int64 }

// A count stops all goroutines. As long as so many bytes are left, which nothing reads in so short a time, the last one counts.
const (
	plenty = 256 << 20
	recent = 200 * time.Millisecond
)

// heap returns the bytes of all objects, and of those that are not collected yet.
func heap() int64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	counted.bytes.Store(int64(now.HeapAlloc))
	counted.at.Store(time.Now().UnixNano())
	return int64(now.HeapAlloc)
}

// Package memory bounds what this process holds of what it reads, over all sources together: whoever reads much asks
// how much is left, and leaves out the rest.
package memory

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
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

// heap returns the bytes of all objects, and of those that are not collected yet. To ask takes less than a microsecond and, unlike
// runtime.ReadMemStats, stops nobody.
func heap() int64 {
	now := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(now)
	return int64(now[0].Value.Uint64())
}

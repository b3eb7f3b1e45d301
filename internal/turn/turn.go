// Package turn says what a run of the tests makes where not all is made: the slow tests whose turn it is, and the seed of what is drawn.
// Both follow from the number of the run, so that the number alone repeats it: OVNCTL_TURN, which make sets.
package turn

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// number is OVNCTL_TURN; false if it is not set.
func number(tb testing.TB) (int, bool) {
	tb.Helper()
	text := os.Getenv("OVNCTL_TURN")
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		tb.Fatalf("OVNCTL_TURN=%s: not a number", text)
	}
	return n, true
}

// Takes returns which of a list of slow tests this run makes: every n-th, beginning at another one in each run, so that n runs in a
// row make all. The number of the run is printed; without it the days count. OVNCTL_FAULTS=all makes all.
func Takes(tb testing.TB, n int) func(i int) bool {
	tb.Helper()
	if os.Getenv("OVNCTL_FAULTS") == "all" {
		return func(int) bool { return true }
	}
	run, ok := number(tb)
	if !ok {
		run = int(time.Now().Unix() / (24 * 60 * 60))
	}
	tb.Logf("OVNCTL_TURN=%d", run)
	return func(i int) bool { return (i+run)%n == 0 }
}

// Seed returns the seed of what this run draws, and prints it: OVNCTL_SEED, else one of its own for each number of a run, else
// another one each time.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := rand.Uint64()
	if run, ok := number(tb); ok {
		seed = rand.NewPCG(uint64(run), 0).Uint64()
	}
	if text := os.Getenv("OVNCTL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("OVNCTL_SEED=%s: %v", text, err)
		}
	}
	tb.Logf("OVNCTL_SEED=%d", seed)
	return seed
}

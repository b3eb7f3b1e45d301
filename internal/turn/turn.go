package labtest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// InTurn returns which of a list of slow tests this run makes: every n-th, beginning at another one in each run, so that n runs in a
// row make all. OVNCTL_TURN numbers the runs and is printed, without it the days do; OVNCTL_FAULTS=all makes all.
func InTurn(tb testing.TB, n int) func(i int) bool {
	tb.Helper()
	if os.Getenv("OVNCTL_FAULTS") == "all" {
		return func(int) bool { return true }
	}
	turn := int(time.Now().Unix() / (24 * 60 * 60))
	if text := os.Getenv("OVNCTL_TURN"); text != "" {
		var err error
		if turn, err = strconv.Atoi(text); err != nil || turn < 0 {
			tb.Fatalf("OVNCTL_TURN=%s: not a number", text)
		}
	}
	tb.Logf("OVNCTL_TURN=%d", turn)
	return func(i int) bool { return (i+turn)%n == 0 }
}

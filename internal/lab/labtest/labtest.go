// Package labtest gives tests a lab.
package labtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
)

var (
	mu     sync.Mutex
	shared = map[string]*lab.Lab{}
)

// Shared is one topology's lab, shared by all tests of a test program. It comes up on first use and goes down when the
// program ends. A test that changes the lab must restore it and must not run in parallel with others; otherwise it uses
// its own lab, from [Own]. A lab that fails to come up fails the test: it is never skipped.
func Shared(tb testing.TB, t lab.Topology) *lab.Lab {
	tb.Helper()
	mu.Lock()
	defer mu.Unlock()
	l := shared[t.Name]
	if l == nil {
		// Not the test's context: the lab outlives the test.
		l = up(tb, context.Background(), t, lab.Options{})
		shared[t.Name] = l
	}
	return l
}

// Own returns a lab for this test alone; it ends with the test.
func Own(tb testing.TB, t lab.Topology, o lab.Options) *lab.Lab {
	tb.Helper()
	l := up(tb, tb.Context(), t, o)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(lastWords(l))
		}
		if err := l.Down(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// lastWords returns log lines in which the lab's daemons abort, and why: later failures may follow from that.
func lastWords(l *lab.Lab) string {
	logs, _ := filepath.Glob(filepath.Join(l.Dir, "*/var/log/*/*.log")) // the pattern is valid
	var words strings.Builder
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			fmt.Fprintln(&words, err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "|EMER|") {
				fmt.Fprintf(&words, "%s: %s", log, line)
			}
		}
	}
	return cmp.Or(words.String(), "no daemon of the lab logged that it ended by itself")
}

func up(tb testing.TB, ctx context.Context, t lab.Topology, o lab.Options) *lab.Lab {
	tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, lab.Allow(5*time.Minute))
	defer cancel()
	start := time.Now()
	l, err := lab.Up(ctx, t, o)
	if err != nil {
		tb.Fatal(fmt.Errorf("bring the lab up (internal/lab/install.sh installs what it needs): %w", err))
	}
	tb.Logf("lab %s on %s: up after %.1f s in %s", t.Name, l.Release, time.Since(start).Seconds(), l.Dir)
	return l
}

// OnReleases runs a test on releases of Open vSwitch and OVN, each of which it installs. Debian's unstable cannot be installed on
// every day: then the log says that it was not tested.
func OnReleases(t *testing.T, names []string, test func(t *testing.T, r lab.Release)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			r, err := lab.Install(t.Context(), name)
			switch {
			case err != nil && name == "sid":
				t.Logf("NOT TESTED: sid cannot be installed today: %v", err)
				return
			case err != nil:
				t.Fatal(err)
			}
			t.Log(r)
			test(t, r)
		})
	}
}

// Others are the releases beside the machine's own.
func Others() []string {
	return slices.DeleteFunc(lab.Releases(), func(name string) bool { return name == lab.System })
}

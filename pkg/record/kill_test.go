package record_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/record"
)

// childEnv tells the test program to record: "DIR REMOTE".
const childEnv = "OVNCTL_TEST_RECORD"

func TestMain(m *testing.M) {
	if dir, remote, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		fmt.Fprintln(os.Stderr, keepUntilKilled(dir, remote))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func keepUntilKilled(dir, remote string) error {
	// Small files, so that kills hit the beginning and the packing of one, too.
	w, err := record.Create(dir, "test", record.Limits{Size: 8 << 20, Age: time.Minute})
	if err != nil {
		return err
	}
	client, err := ovsdb.Dial(context.Background(), ovsdb.Config{DB: "OVN_Northbound", Remotes: remote})
	if err != nil {
		return err
	}
	return w.Follow(context.Background(), client, "nb.db", func() {}, func(error) {})
}

// TestKill kills the recorder with SIGKILL at random times while the database changes. What had been committed a second before
// is recorded, and the next recorder goes on.
func TestKill(t *testing.T) {
	s := start(t)
	s.Transact(`{"op":"insert","table":"Thing","row":{"name":"noise"}}`)
	dir := filepath.Join(t.TempDir(), "record")
	var states []known
	n := 0
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"="+dir+" "+s.Remote())
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		before := len(names(t, dir))
		for deadline := time.Now().Add(time.Minute); len(names(t, dir)) <= before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: nothing is recorded", round)
			}
		}
		began := time.Now()
		for end := began.Add(time.Second + time.Duration(rand.IntN(1000))*time.Millisecond); time.Now().Before(end); {
			n++
			s.Transact(fmt.Sprintf(`{"op":"update","table":"Thing","where":[],"row":{"count":%d,"maybe":%q}}`, n, strings.Repeat("x", rand.IntN(100_000))))
			states = append(states, known{time.Now(), backup(t, s)})
		}
		killed := time.Now()
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		r := open(t, dir)
		_, to := r.Span()
		got := at(t, r, to)
		old := known{}
		fits := false
		for _, state := range states {
			if killed.Sub(state.time) > time.Second {
				old, fits = state, false
			}
			fits = fits || cmp.Equal(state.rows, got)
		}
		if !fits && !cmp.Equal(old.rows, got) {
			t.Errorf("round %d: more than the last second is lost (-a second before +got):\n%s", round, cmp.Diff(old.rows, got))
		}
		_ = r.Close()
	}
	w, err := record.Create(dir, "test", plenty)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "databases/nb.db/.new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	r := open(t, dir)
	from, to := r.Span()
	moments, err := r.Moments(t.Context(), from, to)
	if err != nil || len(moments) == 0 {
		t.Fatalf("%d moments, %v", len(moments), err)
	}
	for _, m := range moments {
		_ = at(t, r, m.Time)
	}
}

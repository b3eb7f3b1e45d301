//go:build failpoints

package fixes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var passed atomic.Int64

// failpoint kills the process, like a power cut, at the point whose number is in OVNCTL_FAILPOINT. It lists the points
// in the file that OVNCTL_FAILPOINTS names. OVNCTL_FAILPAUSE holds the start of a point's name, with _ for blanks, and
// a file: there it creates the file and waits until it is removed.
func failpoint(name string) {
	n := passed.Add(1)
	want := os.Getenv("OVNCTL_FAILPOINT")
	if list := os.Getenv("OVNCTL_FAILPOINTS"); list != "" {
		f, err := os.OpenFile(list, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			fmt.Fprintf(f, "%d %s\n", n, strings.ReplaceAll(name, "\n", " "))
			_ = f.Close()
		}
	}
	if pause, file, ok := strings.Cut(os.Getenv("OVNCTL_FAILPAUSE"), " "); ok && strings.HasPrefix(name, strings.ReplaceAll(pause, "_", " ")) {
		if f, err := os.Create(file); err == nil {
			_ = f.Close()
		}
		for _, err := os.Stat(file); err == nil; _, err = os.Stat(file) {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if want == strconv.FormatInt(n, 10) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

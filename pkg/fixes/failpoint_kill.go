//go:build failpoints

package fixes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var passed atomic.Int64

// failpoint kills the process, like a power cut, at the point whose number is in OVNCTL_FAILPOINT. It lists the points
// in the file that OVNCTL_FAILPOINTS names, and waits at the one that OVNCTL_FAILPAUSE names: [ovsdb.PauseAt].
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
	ovsdb.PauseAt(name)
	if want == strconv.FormatInt(n, 10) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// Command ovnctl shows, traces and repairs deployments of Open vSwitch and OVN.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// version is stamped by the linker.
var version = "devel"

// changes is set while the command may change something: then it is waited for, because it rolls back.
var changes atomic.Bool

// mostPatience is how long an interrupted command that changes nothing may take to end.
const mostPatience = 800 * time.Millisecond

func main() {
	o := &options{stdin: os.Stdin, stdout: &stream{Writer: os.Stdout}, stderr: os.Stderr, interruptible: interruptible}
	os.Exit(o.execute(context.Background(), os.Args[1:]))
}

// interruptible returns a context that the first signal to end cancels. The process then ends soon, whatever the command does.
func interruptible(ctx context.Context) context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends what ignores the first
		for range time.Tick(mostPatience) {
			if !changes.Load() {
				fmt.Fprintln(os.Stderr, "ovnctl: interrupted")
				os.Exit(exitUnknown)
			}
		}
	})
	return ctx
}

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
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends what ignores the first
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }()
	select {
	case code := <-ended:
		os.Exit(code)
	case <-ctx.Done():
	}
	for {
		select {
		case code := <-ended:
			os.Exit(code)
		case <-time.After(mostPatience):
			if !changes.Load() {
				fmt.Fprintln(os.Stderr, "ovnctl: interrupted")
				os.Exit(exitUnknown)
			}
		}
	}
}

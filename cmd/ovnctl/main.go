// Command ovnctl shows, traces and repairs deployments of Open vSwitch and OVN.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is stamped by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what ignores the first
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

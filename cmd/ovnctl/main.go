// Command ovnctl shows, traces and mends deployments of Open vSwitch and OVN.
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
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

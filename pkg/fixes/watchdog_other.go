//go:build !linux

package fixes

import (
	"context"
	"errors"
)

var errNoWatchdog = errors.New("watchdogs run on Linux only")

// watchable returns why no watchdog can run on this host.
func watchable(*Target) error { return errNoWatchdog }

// Arm starts the watchdog of a run.
func (j *Journal) Arm(context.Context, *Target, []string, int) error { return errNoWatchdog }

// Watch is the watchdog.
func (j *Journal) Watch(context.Context, int, func(context.Context) (*Target, error)) error {
	return errNoWatchdog
}

func (j *Journal) watched(int) bool { return false }

// Survives returns why no watchdog started here would outlive this process.
func Survives(string) error { return errNoWatchdog }

//go:build !linux

package fixes

import (
	"context"
	"errors"
)

// A Watchdog takes a run back unless it is confirmed in time.
type Watchdog struct {
	Program string
	Args    []string
}

var errNoWatchdog = errors.New("watchdogs are for Linux hosts")

// Watchable says why no watchdog is possible on this host.
func Watchable(*Target) error { return errNoWatchdog }

// Arm starts the watchdog of a run.
func (j *Journal) Arm(context.Context, *Target, Watchdog, int) error { return errNoWatchdog }

// Watch is the watchdog's life.
func (j *Journal) Watch(context.Context, int, func(context.Context) (*Target, error)) error {
	return errNoWatchdog
}

func (j *Journal) watched(int) bool { return false }

package fixes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// maskPlaces are where systemd looks for a link to /dev/null.
var maskPlaces = []string{"/etc/systemd/system", "/run/systemd/system"}

func (s Service) unit() string {
	if strings.Contains(s.Daemon, ".") {
		return s.Daemon
	}
	return s.Daemon + ".service"
}

func (s Service) lookMask(_ context.Context, t *Target) (stage, string, error) {
	for _, dir := range maskPlaces {
		place, err := t.path(dir)
		if err != nil {
			return moved, "", err
		}
		if to, err := os.Readlink(filepath.Join(place, s.unit())); err == nil && to == "/dev/null" {
			return untouched, "", nil
		}
	}
	return done, "", nil
}

// mask links a unit to /dev/null, or removes the link.
func (t *Target) mask(ctx context.Context, daemon string, mask bool) error {
	unit := Service{Daemon: daemon}.unit()
	for i, dir := range maskPlaces {
		place, err := t.path(dir)
		if err != nil {
			return err
		}
		link := filepath.Join(place, unit)
		to, err := os.Readlink(link)
		switch {
		case mask && i == 0 && errors.Is(err, os.ErrNotExist):
			if err := os.Symlink("/dev/null", link); err != nil {
				return err
			}
		case !mask && err == nil && to == "/dev/null":
			if err := os.Remove(link); err != nil {
				return err
			}
		default:
			continue
		}
		if err := syncDir(place); err != nil {
			return err
		}
	}
	if !t.systemd() {
		return nil
	}
	return t.systemctl(ctx, "daemon-reload")
}

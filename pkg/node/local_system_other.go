//go:build !linux

package node

import (
	"context"
	"os"
	"path/filepath"
)

func (l *local) readKernel(path string) ([]byte, error) {
	return readBounded(filepath.Join("/", l.HostRoot, path), maxFile)
}

func (l *local) Processes(context.Context) ([]Process, error) { return nil, unavailable(notLinux) }

func (l *local) Space(context.Context, string) (Space, error) { return Space{}, unavailable(notLinux) }

func (l *local) Features(context.Context, string) (map[string]bool, error) {
	return nil, unavailable(notLinux)
}

func (l *local) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	return run(ctx, name, args...)
}

// ProcRoot is where the processes of the host at root are visible.
func ProcRoot(root string) string {
	if proc := filepath.Join("/", root, "proc"); root != "" {
		if _, err := os.Stat(filepath.Join(proc, "self")); err == nil {
			return proc
		}
	}
	return "/proc"
}

// SetFeatures switches offloads of a link.
func SetFeatures(string, map[string]bool) error { return unavailable(notLinux) }

package node

import (
	"context"
	"os"
)

// FileSize is the size of a file below the host's root, however large.
func (l *local) FileSize(_ context.Context, path string) (int64, error) {
	info, err := os.Stat(Resolve(l.HostRoot, path))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

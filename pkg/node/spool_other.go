//go:build !linux

package node

import (
	"errors"
	"os"
)

func spool() (*os.File, error) { return nil, errors.ErrUnsupported }

package ovsdb

import (
	"errors"
	"io/fs"
)

// hint returns the next step for the operator, empty if none is known.
func hint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root or as the socket's owner"
	case errors.Is(err, fs.ErrNotExist):
		return "is the server running? see where its socket lies"
	}
	return ""
}

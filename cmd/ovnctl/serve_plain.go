//go:build !metrics

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// export continues as ovnctl-exporter, the same program with the libraries for metrics: they cost each start of a program that has
// them more than most commands take. It returns only if that fails.
func (o *doctorOptions) export(context.Context) (exporter, func(*error), error) {
	const name = "ovnctl-exporter"
	path := ""
	if self, err := os.Executable(); err == nil {
		path, _ = exec.LookPath(filepath.Join(filepath.Dir(self), name))
	}
	if path == "" {
		var err error
		if path, err = exec.LookPath(name); err != nil {
			return nil, nil, unknownError{errors.New("ovnctl-exporter is not installed beside ovnctl\nhint: it comes in the same packages and archives, and is ovnctl with the libraries for metrics")}
		}
	}
	err := syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	return nil, nil, unknownError{fmt.Errorf("%s: %w", path, err)}
}

//go:build !failpoints

package fixes

// failpoint marks where tests kill the process. Without the build tag it does nothing.
func failpoint(string) {}

package machine

import (
	"strings"
	"testing"
)

// Where a program is missing, the message names it, its package and what installs it.
func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Boot(t.Context(), Options{Dir: t.TempDir()})
	if err == nil {
		t.Fatal("a machine booted without QEMU")
	}
	for _, part := range []string{"qemu-system-x86_64 (Debian package qemu-system-x86)", "install.sh machine"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

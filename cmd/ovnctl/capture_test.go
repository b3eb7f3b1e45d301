package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What is in a file that is overwritten stays until something is written, and then nothing of it is left.
func TestCreateOverwrites(t *testing.T) {
	name := filepath.Join(t.TempDir(), "case.tar.zst")
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
	const before = "what an earlier capture has"
	if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&options{}).create(name, false); err == nil {
		t.Error("it is overwritten without --force")
	}
	out, err := (&options{}).create(name, true)
	if err != nil {
		t.Fatal(err)
	}
	holds(before)
	for _, text := range []string{"less", " than that"} {
		if _, err := io.WriteString(out, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	holds("less than that")

	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if out, err := (&options{}).create(pipe, true); err == nil {
			_, _ = io.WriteString(out, "through a pipe")
			_ = out.Close()
		}
	}()
	if b, err := os.ReadFile(pipe); err != nil || string(b) != "through a pipe" {
		t.Errorf("%q, %v", b, err)
	}
}

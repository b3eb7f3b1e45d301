package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTree(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "saved")
	write(t, filepath.Join(top, "secret"), "outside")
	for _, name := range []string{
		"nb.db", "node1/conf.db", "node2/conf.json", "node3/flows-br-int.txt", "node4/tlv-map-br-int.txt", "node5/control/x.txt",
		"notes/flows.md", "other/x.txt", ".git/conf.db", "node6/network.json",
	} {
		write(t, filepath.Join(dir, name), name)
	}
	for name, target := range map[string]string{
		"out": "../secret", "abs": filepath.Join(top, "secret"), "up": "..", "in": "node1/conf.db", "loop": "loop", "zero": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })

	nodes, err := tree.Nodes()
	if want := []string{"node1", "node2", "node3", "node4", "node5", "node6"}; err != nil || !slices.Equal(nodes, want) {
		t.Errorf("nodes %q, %v, want %q", nodes, err, want)
	}
	if b, err := tree.ReadFile("in", 100); err != nil || string(b) != "node1/conf.db" {
		t.Errorf("a link that stays inside: %q, %v", b, err)
	}
	for _, name := range []string{"out", "abs", "up/secret", "../secret", "/etc/passwd", "node1/../../secret", "loop", "zero", "fifo", "node1", "", "."} {
		start := time.Now()
		if b, err := tree.ReadFile(name, 100); err == nil {
			t.Errorf("%q: %q, want an error", name, b)
		} else if !strings.HasPrefix(err.Error(), top) {
			t.Errorf("%q: %v does not say where", name, err)
		}
		if time.Since(start) > time.Second {
			t.Errorf("%q hung", name)
		}
	}
	if _, err := tree.ReadFile("nope", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if b, err := tree.ReadFile("nb.db", 4); err == nil {
		t.Errorf("a file above the bound: %q", b)
	}
	if b, err := tree.ReadFile("nb.db", 5); err != nil || len(b) != 5 {
		t.Errorf("a file at the bound: %q, %v", b, err)
	}
	if !tree.Has("node1") || tree.Has("nope") || tree.Has("../secret") {
		t.Error("Has is wrong")
	}
	if tree.ModTime("nb.db").IsZero() || !tree.ModTime("nope").IsZero() {
		t.Error("ModTime is wrong")
	}
}

func TestOpenFails(t *testing.T) {
	if tree, err := Open("/nonexistent"); err == nil {
		t.Errorf("%s: want an error", tree.Path())
	}
}

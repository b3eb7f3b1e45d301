package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLeft(t *testing.T) {
	defer SetLimit(Limit())
	if Left() != math.MaxInt64 {
		t.Error("a limit that nobody set")
	}
	runtime.GC()
	const mega = 1 << 20
	SetLimit(heap() + 40*mega)
	before := Left()
	if before < 35*mega || before > 41*mega {
		t.Errorf("%d MB left of 40", before/mega)
	}
	held := make([]byte, 32*mega)
	if left := before - Left(); left < 30*mega {
		t.Errorf("32 MB in use count as %d", left/mega)
	}
	runtime.KeepAlive(held)
	held = nil
	if left := Left(); left < 35*mega {
		t.Errorf("%d MB left of 40 after what was dropped", left/mega)
	}
	_ = held
}

func TestGroup(t *testing.T) {
	const none = math.MaxInt64
	tests := []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"first version", "5:memory:/a/b\n0::/\n", map[string]string{"memory/a/b/memory.limit_in_bytes": "134217728\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 134217728},
		{"around it", "0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "1000\n"}, 1000},
		{"container", "0::/../../x\n", map[string]string{"memory.max": "2000\n"}, 2000},
		{"none", "0::/a\n", map[string]string{"a/memory.max": "max\n"}, none},
		{"garbage", "memory\n:::\n", map[string]string{}, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			self := filepath.Join(root, "self")
			tt.files["self"] = tt.self
			for name, text := range tt.files {
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := group(root, self); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

package decompress

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pack is what a tool makes of text.
func pack(t *testing.T, tool string, text io.Reader) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, "-c")
	cmd.Stdin = text
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func unpack(packed []byte, limit Limit) (string, error) {
	r, err := NewReader(bytes.NewReader(packed), limit)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// zeros are n bytes that pack well.
func zeros(n int) string { return strings.Repeat("\x00", n) }

func TestTools(t *testing.T) {
	limit := Limit{Free: 1 << 18, Ratio: 20}
	text := strings.Repeat("what the tools wrote\n", 20)
	step := 1 // between the places where what a tool wrote is cut
	if testing.Short() {
		step = 11
	}
	for _, tool := range []string{"gzip", "zstd", "xz", "bzip2"} {
		t.Run(tool, func(t *testing.T) {
			packed := pack(t, tool, strings.NewReader(text))
			if got, err := unpack(packed, limit); err != nil || got != text {
				t.Errorf("%q, %v", got, err)
			}
			for n := 6; n < len(packed); n += step {
				// Of xz the whole may be there before its end is.
				if got, err := unpack(packed[:n], limit); !strings.HasPrefix(text, got) || err == nil && got != "" && got != text {
					t.Errorf("cut at %d: %q, %v", n, got, err)
				}
			}
			if _, err := unpack(pack(t, tool, strings.NewReader(zeros(1<<18))), limit); err != nil {
				t.Errorf("within bounds: %v", err)
			}
			if got, err := unpack(pack(t, tool, strings.NewReader(zeros(1<<23))), limit); !errors.Is(err, ErrTooLarge) || len(got) > 1<<19 {
				t.Errorf("%d bytes, %v; want ErrTooLarge", len(got), err)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for _, text := range []string{"", "x", "OVSDB JSON 1 x", zeros(1000)} {
		if got, err := unpack([]byte(text), Limit{}); err != nil || got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// A format's memory is bounded whatever the file asks for.
func TestWindow(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 31 << 3 /* 2 TiB */, 0x01, 0x00, 0x00}
	if _, err := unpack(frame, Limit{}); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("%v", err)
	}
}

// Without a directory for temporary files the message does not say that what was asked for is missing.
func TestSpoolNowhere(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err := Spool()
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "temporary files") {
		t.Errorf("%v", err)
	}
}

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/pkg/archive"
)

// wantPartial runs a command on saved data of which a part is lost: it ends with exit code 3, or with 1 for what it found all the
// same, and says what is lost on standard error or in the first lines of its answer, and in a document's notes.
func wantPartial(t *testing.T, path, why string, args ...string) {
	t.Helper()
	args = append([]string{"--offline", path}, args...)
	var stdout, stderr, document, errs strings.Builder
	code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	lines := append(strings.SplitAfterN(stderr.String(), "\n", 4), strings.SplitAfterN(stdout.String(), "\n", 8)...)
	said := slices.ContainsFunc(lines[:len(lines)-1], func(line string) bool {
		return strings.Contains(line, "all of the saved data at "+path) && strings.Contains(line, why)
	})
	if code != exitUnknown && code != exitFound || !said {
		t.Errorf("ovnctl %s: exit %d, want %d and %q:\n%.300s\n%.1000s", strings.Join(args, " "), code, exitUnknown, why, &stderr, &stdout)
	}
	machine := run(t.Context(), append(args, "-o", "json"), strings.NewReader(""), &document, &errs)
	var doc struct {
		Notes []string
		Error string
	}
	err := json.Unmarshal([]byte(document.String()), &doc)
	if notes := strings.Join(append(doc.Notes, doc.Error), "\n"); err != nil || machine != code || !strings.Contains(notes, why) && !strings.Contains(errs.String(), why) {
		t.Errorf("ovnctl %s -o json: exit %d, as text %d, %v, notes %q, want %q", strings.Join(args, " "), machine, code, err, notes, why)
	}
}

// healthy returns the capture of the demo without faults, and unpacked to its tar.
func healthy(t *testing.T) (capture, unpacked []byte) {
	t.Helper()
	capture, _ = demo.Capture(demo.Healthy)
	in, err := zstd.NewReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if unpacked, err = io.ReadAll(in); err != nil {
		t.Fatal(err)
	}
	return capture, unpacked
}

// A capture that is cut, or differs anywhere from what was written, is not taken for whole.
func TestDamagedCapture(t *testing.T) {
	capture, unpacked := healthy(t)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x10
		return b
	}
	rows := bytes.LastIndex(unpacked, []byte(`"chassis`))
	entry := bytes.LastIndex(unpacked, []byte("ustar")) - 257 // of the last index
	for _, test := range []struct {
		name, why string
		file      []byte
	}{
		{"cut at a tenth", "cut short", capture[:len(capture)/10]},
		{"cut in half", "cut short", capture[:len(capture)/2]},
		{"cut at nine tenths", "cut short", capture[:len(capture)*9/10]},
		{"the last byte cut", "cut short", capture[:len(capture)-1]},
		{"another byte in half", "damaged", flip(capture, len(capture)/2)},
		{"another checksum", "damaged", flip(capture, len(capture)-1)},
		{"a tar cut before its last entry", "cut short", unpacked[:entry]},
		{"a tar cut in its last entry", "cut short", unpacked[:entry+2000]},
		{"another byte of a member", "1 of 334 files are missing, or damaged or changed since: ", flip(unpacked, rows)},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "capture.tar.zst")
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			wantPartial(t, path, test.why, "topology", "show")
		})
	}
}

// What a capture lacks, though its index has it, or though it was asked for, is missing, for every command.
func TestIncompleteCapture(t *testing.T) {
	capture, _ := healthy(t)
	tree, err := archive.Read(t.Context(), "healthy.tar.zst", bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // only read
	topology := [][]string{{"topology", "show"}}
	for _, test := range []struct {
		name, why string
		lost      string // file
		failed    []archive.IndexFailure
		commands  [][]string
	}{
		{name: "a database", why: "1 of 334 files are missing, or damaged or changed since: sb.db", lost: "sb.db", commands: topology},
		{name: "a member", why: "1 of 334 files are missing, or damaged or changed since: node2/conf.json", lost: "node2/conf.json", commands: topology},
		{
			name: "what was not read", why: "it was captured without the rest: --within is over",
			failed: []archive.IndexFailure{{What: "the rest", Why: "--within is over"}},
			commands: [][]string{
				{"trace", "shop/client", "shop/web-1", "--tcp", "8080"}, {"trace", "--microflow", `inport=="shop_client"`},
				{"trace", "--flow", "in_port=1", "--node", "node1"}, {"doctor"}, {"doctor", "-o", "junit"}, {"reach", "shop/client", "shop/web-1"}, {"get", "switches"},
				{"flows", "--node", "node1"}, {"decode", "--node", "node1"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "capture.tar.zst")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			pack := tar.NewWriter(f)
			x := *tree.Index()
			x.Failed = slices.Concat(x.Failed, test.failed)
			index, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append(x.Files, archive.IndexEntry{Name: archive.IndexFile}) {
				content := index
				if f.Name != archive.IndexFile {
					if content, err = tree.ReadFile(f.Name, 1<<30); err != nil {
						t.Fatal(err)
					}
				}
				if f.Name == test.lost {
					continue
				}
				if err := pack.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(content)), Mode: 0o600}); err != nil {
					t.Fatal(err)
				}
				if _, err := pack.Write(content); err != nil {
					t.Fatal(err)
				}
			}
			if err := pack.Close(); err != nil {
				t.Fatal(err)
			}
			for _, args := range test.commands[:fewer(t, len(test.commands), 1)] {
				wantPartial(t, path, test.why, args...)
			}
		})
	}
}

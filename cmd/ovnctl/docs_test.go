package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocs runs each console block of the README and of docs/, and compares what it shows. A console block holds commands that
// run anywhere, on the captures in the program; what needs a live deployment is shown in other blocks.
func TestDocs(t *testing.T) {
	root := os.DirFS("../..")
	pages, err := fs.Glob(root, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(root, "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		blocks += testPage(t, filepath.Join("../..", page))
	}
	if blocks < 3 {
		t.Errorf("%d console blocks in all documents: are they still found?", blocks)
	}
}

var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

func testPage(t *testing.T, page string) int {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	updated := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		blocks++
		body := consoleBlock.FindStringSubmatch(block)[1]
		got := runConsole(t, page, body)
		if !*update && got != body {
			t.Errorf("%s shows what is not so any more (-shown +now; make golden rewrites it):\n%s", page, cmp.Diff(body, got))
		}
		return "```console\n" + got + "```"
	})
	if *update && updated != string(text) {
		if err := os.WriteFile(page, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return blocks
}

// runConsole is a block with what its commands print now.
func runConsole(t *testing.T, page, body string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(body) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue // of the output
		}
		fmt.Fprintf(&out, "$ %s%s", command, runDocumented(t, page, strings.TrimSpace(command)))
	}
	return out.String()
}

var (
	documented = regexp.MustCompile(`^(?:ovnctl|go run \./cmd/ovnctl) (.*?)(?: \| (head|tail) -(\d+))?$`)
	anywhere   = regexp.MustCompile(`--offline demo\b|demo:healthy|^demo\b|^explain |^(fix list|version|help)\b`)
)

func runDocumented(t *testing.T, page, command string) string {
	t.Helper()
	m := documented.FindStringSubmatch(command)
	if m == nil || !anywhere.MatchString(m[1]) {
		t.Errorf("%s: %q does not run on the demo: a console block is for what does", page, command)
		return ""
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `exec "$0" `+m[1], self)
	cmd.Env = append(os.Environ(), asOvnctl+"=1", "COLUMNS=120", "LANG=C.UTF-8", "NO_COLOR=1")
	shown, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != exitFound) {
		t.Errorf("%s: %s: %v", page, command, err)
	}
	return cut(string(shown), m[2], m[3])
}

// cut is what head or tail leave of an output.
func cut(text, how, count string) string {
	if how == "" {
		return text
	}
	n, _ := strconv.Atoi(count)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if n >= len(lines) {
		return text
	}
	if how == "head" {
		return strings.Join(lines[:n], "")
	}
	return strings.Join(lines[len(lines)-n:], "") + "\n"
}

//go:build lab

package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The budget of a command that does nothing, which every other pays too.
const (
	mostBinary = 45 << 20
	mostMemory = 16 << 20
	mostInit   = 40_000  // bytes that one package allocates before main
	mostInits  = 200_000 // all of them
	mostOwn    = 10_000  // ovnctl's own
)

// TestBudget holds the size of the binary, the memory of `version`, and what packages do before main: a library for one
// command must not cost all others.
func TestBudget(t *testing.T) {
	program := buildOvnctl(t)
	file, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > mostBinary {
		t.Errorf("the binary has %d bytes, at most %d are allowed", file.Size(), mostBinary)
	}
	memory := peakOfVersion(t, inPages(t, program))
	if memory == 0 || memory > mostMemory {
		t.Errorf("`version` takes %d bytes of memory, at most %d are allowed", memory, mostMemory)
	}
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	inits := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, `).FindAllStringSubmatch(string(out), -1)
	if len(inits) < 10 {
		t.Fatalf("%d packages with an init, in\n%s", len(inits), out)
	}
	all, own := 0, 0
	for _, m := range inits {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if all += n; n > mostInit {
			t.Errorf("%s allocates %d bytes before main, at most %d are allowed: make them when they are first needed", m[1], n, mostInit)
		}
		if strings.HasPrefix(m[1], "github.com/ovnctl/") || m[1] == "main" {
			own += n
		}
	}
	if own == 0 || own > mostOwn {
		t.Errorf("ovnctl's own packages allocate %d bytes before main, at most %d are allowed: see pkg/lazy", own, mostOwn)
	}
	if all > mostInits {
		t.Errorf("%d bytes are allocated before main, at most %d are allowed", all, mostInits)
	}
}

// inPages copies a program page by page, and returns the path of the copy. Of a file that was written in long pieces the kernel keeps
// long pieces, and maps them whole: twice the memory, by nothing that the program does.
func inPages(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	to, err := os.OpenFile(program+".pages", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(text, os.Getpagesize()) {
		if _, err := to.Write(page); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}

// peakOfVersion returns the most memory of `version`: its standard output is a full pipe, so that it waits when it has done
// its work.
func peakOfVersion(t *testing.T, program string) int64 {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat(" ", size)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "version")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var memory int64
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		memory, _ = highWater(cmd.Process.Pid)
	}
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), "version") {
		t.Fatalf("%q, %v", text, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return memory
}

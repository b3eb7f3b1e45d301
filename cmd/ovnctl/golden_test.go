package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write what the scripts in testdata expect, as ovnctl prints it now")

// TestGolden compares what commands print about the demos with the files in testdata/golden: on terminals of 80 and 120
// columns, and as JSON. After a change of wording, go test -run Scripts\|Golden -update writes them, and git diff shows it.
func TestGolden(t *testing.T) {
	runScripts(t, "testdata/golden/*.txtar", nil)
}

// runScripts runs the scripts that the pattern names, with update as the flag says.
func runScripts(t *testing.T, pattern string, setup func(*testscript.Env) error) {
	t.Helper()
	scripts, err := filepath.Glob(pattern)
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LANG", "C.UTF-8")
			if setup == nil {
				return nil
			}
			return setup(env)
		},
	})
}

// onTerminalMain is the command "on-terminal COLUMNS COMMAND...": the command's standard output is a terminal of so many
// columns, and what appears there comes out.
func onTerminalMain() {
	columns, err := strconv.Atoi(os.Args[1])
	exitOn(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stderr = os.Stderr
	screen, err := readTerminal(columns, func(terminal *os.File) error {
		cmd.Stdout = terminal
		return cmd.Run()
	})
	_, _ = os.Stdout.Write(screen)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	exitOn(err)
}

// countStepsMain is the command "count-steps": JSON on standard input comes out with the number of steps of each hop in
// their place. They are nine tenths of a trace.
func countStepsMain() {
	var document any
	exitOn(json.NewDecoder(os.Stdin).Decode(&document))
	countSteps(document)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	exitOn(out.Encode(document))
}

func countSteps(value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			countSteps(v)
		}
	case map[string]any:
		if steps, ok := value["steps"].([]any); ok {
			value["steps"] = len(steps)
		}
		for _, v := range value {
			countSteps(v)
		}
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// readTerminal returns what a function writes to a terminal of so many columns.
func readTerminal(columns int, write func(terminal *os.File) error) ([]byte, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer master.Close() //nolint:errcheck // a terminal
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	settings.Oflag &^= unix.OPOST // lines end as they were written
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, settings); err != nil {
		return nil, err
	}
	screen := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(master) // EIO when the last has closed it
		screen <- b
	}()
	err = write(slave)
	_ = slave.Close()
	return <-screen, err
}

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asOvnctl in the environment makes the test binary run as ovnctl, for tests that run it on a node of a lab.
const asOvnctl = "OVNCTL_TEST_AS_OVNCTL"

// child is what the test binary does instead of tests, if the environment asks for it: of files with other build tags.
var child func()

func TestMain(m *testing.M) {
	if os.Getenv(asOvnctl) != "" {
		main()
	}
	if child != nil {
		child()
	}
	testscript.Main(m, map[string]func(){"ovnctl": main, "on-terminal": onTerminalMain, "count-steps": countStepsMain})
}

// A result is what a run of ovnctl printed.
type result struct {
	args           []string
	code           int
	stdout, stderr []byte
}

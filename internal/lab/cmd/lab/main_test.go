//go:build lab

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ovnctl/ovnctl/internal/lab"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"lab": main}) }

// TestFailures holds that the command prints why it failed, and passes on the exit status of what it ran.
func TestFailures(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			dir, err := os.MkdirTemp("/tmp", "lab-test-") // the script's own directory is too long for sockets
			env.Setenv("LAB", dir+"/lab")
			env.Defer(func() {
				_ = lab.Down(dir + "/lab")
				_ = os.RemoveAll(dir)
			})
			return err
		},
	})
}

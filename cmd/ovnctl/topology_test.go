package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTopologyScripts runs the scripts about topology show. They read the
// directory net: three nodes of the ovn-kubernetes style, saved from a lab without
// its logical flows, in which the pod ops/debug was disabled and the device of
// shop/web-3 taken away.
func TestTopologyScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/topology*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	saved, err := filepath.Abs("testdata/topology")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("OVNCTL_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("LANG", "C.UTF-8")
			return os.Symlink(saved, filepath.Join(env.WorkDir, "net"))
		},
	})
}

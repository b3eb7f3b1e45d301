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
	saved, err := filepath.Abs("testdata/topology")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, "testdata/topology*.txtar", func(env *testscript.Env) error {
		return os.Symlink(saved, filepath.Join(env.WorkDir, "net"))
	})
}

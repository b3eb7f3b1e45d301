// Package clustertest opens for tests what management systems wrote.
package clustertest

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/cluster"
)

// EachDeployment runs a test on each saved deployment of testdata/deployments.
func EachDeployment(t *testing.T, test func(*testing.T, *cluster.Cluster)) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	saved, err := filepath.Glob(filepath.Join(filepath.Dir(here), "../../../testdata/deployments/*.tar.zst"))
	if err != nil || len(saved) == 0 {
		t.Fatalf("no saved deployment, %v", err)
	}
	for _, file := range saved {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := cluster.Open(t.Context(), cluster.Config{Offline: file})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			test(t, c)
		})
	}
}

package labtest

import (
	"os"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

func TestShared(t *testing.T) {
	first := Shared(t, lab.OVNKubernetes())
	if second := Shared(t, lab.OVNKubernetes()); second != first {
		t.Errorf("two labs, %s and %s, want one", first.Dir, second.Dir)
	}
	var dir string
	t.Run("own", func(t *testing.T) {
		own := Own(t, lab.OpenShiftSDN(), lab.Options{})
		dir = own.Dir
		truth, err := own.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 0)
		if err != nil || !truth.RoundTrip {
			t.Errorf("probe: %+v, %v", truth, err)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a test's own lab in %s is there after the test: %v", dir, err)
	}
}

//go:build lab

package labtest

import (
	"os"
	"path/filepath"
	"strings"
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
		if said := lastWords(own); strings.Contains(said, "EMER") {
			t.Errorf("daemons that live are said to have ended: %s", said)
		}
		const abort = "2026-01-02T03:04:05.678Z|00078|util|EMER|../lib/conntrack.c:1063: assertion failed\n" // none that ends it can be called for
		log, err := os.OpenFile(filepath.Join(own.Dir, "node1/var/log/openvswitch/ovs-vswitchd.log"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if _, err := log.WriteString(abort); err != nil {
			t.Fatal(err)
		}
		if said := lastWords(own); !strings.HasSuffix(said, "ovs-vswitchd.log: "+abort) {
			t.Errorf("ovs-vswitchd ended, but: %s", said)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a test's own lab in %s is there after the test: %v", dir, err)
	}
}

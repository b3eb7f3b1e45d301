package anonymize

import (
	"strings"
	"testing"
)

// TestAddressInPath holds that an address in a path is none that says which bits of another count.
func TestAddressInPath(t *testing.T) {
	const mac, mask = "6c:7f:66:bf:51:1a", "ff:ff:ff:ff:ff:00"
	r := New()
	for _, dir := range []string{"etc/", "/etc/net/", "fd/", "1/"} {
		if got := r.Text(dir + mac); strings.Contains(got, mac) {
			t.Errorf("%s: %s", dir+mac, got)
		}
	}
	if got := r.Text(mac + "/" + mask); !strings.HasSuffix(got, "/"+mask) || strings.Contains(got, mac) {
		t.Errorf("%s/%s: %s", mac, mask, got)
	}
}

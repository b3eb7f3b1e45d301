package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// Rewrite returns what has a CMS write its rows again; empty if the CMS is unknown.
func Rewrite(owner decode.CMS) string {
	switch owner {
	case decode.Neutron:
		return "neutron-ovn-db-sync-util --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/plugins/ml2/ml2_conf.ini --ovn-neutron_sync_mode repair"
	case decode.KubeOVN:
		return "kubectl -n kube-system rollout restart deployment kube-ovn-controller"
	case decode.OVNKubernetes:
		return "restart ovnkube on the control plane or the node"
	}
	return ""
}

// AtMost lists names, and how many more there are than n.
func AtMost(names []string, n int) string {
	if len(names) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
	}
	return strings.Join(names, ", ")
}

// Shorten truncates a text that would fill the screen.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// Span formats a duration: "40 s", "12 min", "3 h", "5 days".
func Span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Pairs lists a map's keys that are set, in the style of ovs-vsctl.
func Pairs(m map[string]string, keys ...string) string {
	var out []string
	for _, k := range keys {
		if v, ok := m[k]; ok {
			out = append(out, k+"="+v)
		}
	}
	return strings.Join(out, " ")
}

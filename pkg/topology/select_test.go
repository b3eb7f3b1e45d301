//go:build lab

package topology_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

func TestSelect(t *testing.T) {
	g := named(t)
	tests := []struct {
		text string
		want string // names of the matches, or the beginning of the error
	}{
		{"all", "lsp:dyn pod:bank/db pod:bank/web-0 pod:shop/web-0 vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"*", "lsp:dyn pod:bank/db pod:bank/web-0 pod:shop/web-0 vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"bank/", "pod:bank/db pod:bank/web-0"},
		{"bank", "pod:bank/db pod:bank/web-0"},
		{"bnak", "not found: bnak\nhint: nearest: bank/"},
		{"ns:bank", "pod:bank/db pod:bank/web-0"},
		{"bank/*", "pod:bank/db pod:bank/web-0"},
		{"*/web-?", "pod:bank/web-0 pod:shop/web-0"},
		{"web-*", "pod:bank/web-0 pod:shop/web-0 vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"shop/web-0", "pod:shop/web-0"},
		{"switch:node1", "pod:bank/web-0 pod:shop/web-0"},
		{"private", "lsp:dyn vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"ovn-default", "pod:bank/db"},
		{"switch:node*", "pod:bank/web-0 pod:shop/web-0"},
		{"node:node1", "node:node1"},
		{"node:node1/", "pod:shop/web-0"},
		{"node:node*", "node:node1 node:node2"},
		{"label:pod=true", "pod:bank/web-0 pod:shop/web-0"},
		{"label:vendor", "pod:bank/db"},
		{"label:neutron:port_name=web-vm", "vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"svc:shop/", "svc:shop/none svc:shop/web"},
		{"svc:*/web", "svc:shop/web"},
		{"svc:shop/web:80", "svc:shop/web:80"},
		{"ip:10.244.1.5", "pod:shop/web-0"},
		{"external:203.0.113.10", "external:203.0.113.10"},
		{"web-0", "web-0: 2 objects match\nhint: give one of: pod:bank/web-0, pod:shop/web-0"},
		{"shpo/", "shpo/: no pod is in this namespace\nhint: nearest: shop/"},
		{"shop/nothing*", "shop/nothing*: no pod has such a name"},
		{"label:vendro", "label:vendro: the external_ids of no port have a key \"vendro\"\nhint: nearest: label:vendor"},
		{"label:vendor=kube-ovm", "label:vendor=kube-ovm: the external_ids of no port have \"kube-ovm\" as \"vendor\"\nhint: nearest: label:vendor=kube-ovn"},
		{"switch:nod1", "switch:nod1: no switch has this name\nhint: nearest: node1"},
		{"node:nod1/", "node:nod1/: no node has this name\nhint: nearest: node1, node2"},
		{"node:node2/", "node:node2/: no pod or VM runs there"},
		{"svc:shpo/", "svc:shpo/: no service is in this namespace\nhint: nearest: svc:shop/"},
		{"shop/web-1", "not found: shop/web-1\nhint: nearest:"},
		{"", ": the name is empty"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			found, err := g.Select(test.text)
			var names []string
			for _, m := range found {
				names = append(names, m.Name)
			}
			got := strings.Join(names, " ")
			if err != nil {
				var name *topology.NameError
				if !errors.As(err, &name) {
					t.Fatalf("%v is no NameError", err)
				}
				got = err.Error()
				if strings.HasPrefix(got, test.want) {
					return
				}
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

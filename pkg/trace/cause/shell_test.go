package cause

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Names come from databases: whatever they are, a shell takes a proposed command as one, with each name as one word.
func TestCommandsAreQuoted(t *testing.T) {
	const evil = "x'; touch nowhere $(id) `id` \"\\\n-rf"
	e := New(&logicalflow.Network{}, nil, nil)
	a := admission{ingress: true, peer: netip.MustParseAddr("10.0.0.1"), traffic: traffic{proto: packet.ProtoTCP, dstPort: 80, dst: netip.MustParseAddr("10.0.0.2")}}
	for _, command := range []string{
		aclCommand("acl-del", decode.Holder{Kind: decode.GroupHolder, Name: evil}, evil, "1", evil),
		aclCommand("acl-add", decode.Holder{Kind: decode.SwitchHolder, Name: evil}, "to-lport", "1", evil),
		editPolicy(decode.Owner{Namespace: evil, Name: evil}),
		e.patchPolicy(a, decode.Owner{Namespace: evil, Name: evil}),
		e.enableRouter(evil, "", nil).Command,
		e.enableRouter(evil, "", map[string]string{"neutron:router_name": evil}).Command,
	} {
		name, rest, _ := strings.Cut(command, " ")
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `show() { printf '<%s>' "$@"; }; show `+rest).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "<"+evil+">") {
			t.Errorf("%s: %s\n%s%v", name, rest, out, err)
		}
	}
}

// The port of a virtual machine is no pod's, whatever its owner is called.
func TestPodOf(t *testing.T) {
	pod := decode.Owner{CMS: decode.KubeOVN, Kind: "Pod", Namespace: "shop", Name: "web-1"}
	if got := podOf(decode.Object{Owner: pod}); got != "shop/web-1" {
		t.Errorf("%q", got)
	}
	if got := podOf(decode.Object{Owner: decode.Owner{CMS: decode.Neutron, Kind: "neutron port", Name: "web-1"}}); got != "" {
		t.Errorf("a neutron port: %q", got)
	}
}

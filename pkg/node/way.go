package node

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// A Way leads from here to other nodes.
type Way interface {
	// Host returns a node by its name and hostname, which may come from a database. It runs nothing until asked.
	Host(name, hostname string, timeout time.Duration) (Host, error)
}

// A Lister is a Way that knows which nodes it leads to.
type Lister interface {
	Way
	// Nodes lists the hostnames of all nodes.
	Nodes(ctx context.Context) ([]string, error)
	// Centrals lists what runs databases that serve many nodes, if there is any.
	Centrals(ctx context.Context, timeout time.Duration) ([]Host, error)
}

// A Prefix is a command that runs another command on a node: "ssh {hostname}".
type Prefix string

// Host returns a node behind the prefix.
func (p Prefix) Host(name, hostname string, timeout time.Duration) (Host, error) {
	return Remote(RemoteConfig{Name: name, Hostname: hostname, Prefix: string(p), Timeout: timeout})
}

// A Preset is a Prefix that is known by a name.
type Preset struct {
	Name  string
	About string // what it is for, in a line
	words func() []string
}

// Host returns a node behind the preset's prefix.
func (p Preset) Host(name, hostname string, timeout time.Duration) (Host, error) {
	return Remote(RemoteConfig{Name: name, Hostname: hostname, Prefix: p.prefix(), From: "via " + p.Name + ": " + hostname, Timeout: timeout})
}

func (p Preset) prefix() string {
	var words []string
	for _, w := range p.words() {
		words = append(words, shellQuote(w))
	}
	return strings.Join(words, " ")
}

// Presets are the ready ways to other nodes.
var Presets = []Preset{
	{"ssh", "hosts, by ssh without a password; also where the programs are in OpenStack's containers", func() []string {
		return []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "{hostname}", "sh -c " + shellQuote(enterContainer)}
	}},
	{"kubectl", "the pods of ovn-kubernetes or Kube-OVN, by kubectl", func() []string {
		return []string{"sh", "-c", enterPod, "kubectl", "{hostname}"}
	}},
	{"podman", "containers with the nodes' names", func() []string { return []string{"podman", "exec", "-i", "{hostname}"} }},
	{"docker", "containers with the nodes' names", func() []string { return []string{"docker", "exec", "-i", "{hostname}"} }},
	{"lxc", "containers of LXD, Incus or LXC with the nodes' names", lxcWords},
	{"ip-netns", "network namespaces with the nodes' names", func() []string { return []string{"ip", "netns", "exec", "{hostname}"} }},
}

// FindPreset returns the preset with that name; false if there is none.
func FindPreset(name string) (Preset, bool) {
	for _, p := range Presets {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// lxcWords are those of the first program that is installed: all three start from the name of a container.
func lxcWords() []string {
	for _, program := range []string{"lxc", "incus"} {
		if _, err := exec.LookPath(program); err == nil {
			return []string{program, "exec", "{hostname}", "--"}
		}
	}
	return []string{"lxc-attach", "-n", "{hostname}", "--"}
}

// enterContainer becomes root where that takes no password and goes on as sh: in a container of kolla or TripleO, which share
// the host's network and sockets, if Open vSwitch's programs are not on the host itself.
const enterContainer = `u=
[ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && u="sudo -n"; }
if ! command -v ovs-appctl >/dev/null 2>&1 && ! [ -x ` + snapPrefix + `ovs-appctl ]; then
	for r in podman docker; do
		command -v $r >/dev/null 2>&1 || continue
		for c in ovn_controller openvswitch_vswitchd; do
			$u $r exec $c true >/dev/null 2>&1 && exec $u $r exec -i -u 0 $c sh
		done
	done
fi
exec $u sh`

// enterPod runs a command in a pod on the node "$1" that sees the sockets of Open vSwitch.
const enterPod = `node=$1
shift
exec 3<&0
pods=$(kubectl get pods -A -l "app in (ovnkube-node,ovs)" --field-selector "spec.nodeName=$node,status.phase=Running" \
	-o jsonpath='{range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.containers[*].name}{"\n"}{end}' </dev/null) || exit
for container in ovnkube-controller ovn-controller openvswitch; do
	while read -r namespace pod containers; do
		case " $containers " in
		*" $container "*) exec kubectl exec -i -n "$namespace" "$pod" -c "$container" -- "$@" <&3 3<&- ;;
		esac
	done <<EOF
$pods
EOF
done
echo "no pod of ovn-kubernetes or Kube-OVN runs on $node" >&2
exit 1`

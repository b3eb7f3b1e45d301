package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (r *remote) Pod(ctx context.Context, link string) (*PodNet, error) {
	pod, err := r.pod(ctx, link)
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	return pod, nil
}

func (r *remote) pod(ctx context.Context, link string) (*PodNet, error) {
	n, err := r.Network(ctx)
	if err != nil {
		return nil, err
	}
	here := n.Link(link)
	if here == nil {
		return nil, r.fail(fmt.Errorf("no such link"))
	}
	if err := podLink(here); err != nil {
		return nil, err
	}
	if r.answersItself(ctx) {
		return r.ownPod(ctx, link)
	}
	name, path, guessed, err := r.findNetns(ctx, here)
	if err != nil {
		return nil, err
	}
	enter := enterNetns(path)
	parts, err := r.podParts(ctx, enter)
	if err != nil {
		return nil, err
	}
	pod := &PodNet{Netns: name, Guessed: guessed, Sockets: socketsOf(parts)}
	get := func(name, program string) ([]byte, error) {
		p, ok := parts[name]
		if !ok {
			return nil, r.fail(fmt.Errorf("no reply from its shell to the question for %s", name))
		}
		return p.out, r.explain(p, program)
	}
	if chains, err := parseFirewall(get); err == nil {
		pod.Firewall = emptyNotNull(chains)
	}
	pod.Network, err = parseNetwork(func(name string) ([]byte, error) { return get(name, "nsenter or ip") })
	if err != nil {
		return nil, err
	}
	pod.Network.Sysctl = sysctlsOf(parts["sysctl"].out)
	r.routesOf(pod)
	if err := pod.findLink(*here); err != nil {
		return nil, err
	}
	pod.LeavesChecksums = leavesChecksums(parseLinkFeatures(string(parts["ethtool"].out), pod.Link.Name))
	return pod, nil
}

// askOwnPod is asked only where ovnctl has answered before.
func askOwnPod(link string) question {
	return question{kernel: "part " + ownPodPart + " absent 'the ovnctl that answered before is gone'\n", own: request{Pod: link}.own()}
}

// ownPod is what ovnctl there says of a pod.
func (r *remote) ownPod(ctx context.Context, link string) (*PodNet, error) {
	p, err := r.ask(ctx, "pod "+link, ownPodPart, askOwnPod(link))
	if err != nil {
		return nil, err
	}
	pod := &PodNet{Network: &Network{}}
	if err := r.ownPart(p, pod); err != nil {
		return nil, err
	}
	if pod.Network == nil {
		return nil, r.fail(errNoNetwork)
	}
	r.routesOf(pod)
	return pod, nil
}

// routesOf has the node's ip(8) look up the routes of a pod that its tables do not tell.
func (r *remote) routesOf(pod *PodNet) {
	path := pod.Netns
	if !strings.HasPrefix(path, "/") {
		path = namedPath(path)
	}
	pod.route = func(ctx context.Context, q RouteQuery) (*Route, error) {
		if route, ok := pod.Network.told(q); ok {
			return route, nil
		}
		return remoteRouter{r, ctx, enterNetns(path) + " ip", func(context.Context) (*Network, error) { return pod.Network, nil }}.route(q)
	}
}

// socketsOf reads the sockets from a script's parts; nil if they are not there.
func socketsOf(parts map[string]part) []Socket {
	if p, ok := parts["ss"]; ok && p.code == 0 {
		return sortSockets(parseSS(string(p.out)))
	}
	if p, ok := parts["tcp"]; !ok || p.code != 0 {
		return nil
	}
	var list []Socket
	for _, table := range socketTables {
		list = append(list, parseSockets(string(parts[table.name].out), table.protocol, table.state)...)
	}
	return sortSockets(emptyNotNull(list))
}

func (r *remote) Sockets(ctx context.Context) ([]Socket, error) {
	parts, err := r.shells.run(ctx, `
part ss ss -Hlntu
part tcp cat /proc/net/tcp
part tcp6 cat /proc/net/tcp6
part udp cat /proc/net/udp
part udp6 cat /proc/net/udp6
`, r.Timeout, r.Timeout)
	if list := socketsOf(parts); list != nil {
		return list, nil
	}
	return nil, r.fail(cmp.Or(err, unavailable("sockets: /proc/net cannot be read there")))
}

// askPod asks in the namespace, by one shell that enters it: to enter for each question takes longer than to answer it.
func askPod(enter string) question {
	return question{kernel: "export A B SECONDS_EACH\n" + enter + " sh -s <<'INSIDE' || part addr " + enter + " ip -N -d -j addr\n" + preamble.Get() + networkParts + firewallParts + `
features() {
	while read -r l x; do
		case $l in *:*) ethtool -k "${l%%:*}" ;; esac
	done </proc/net/dev
}
part ss ss -Hlntu
[ "$r" = 0 ] || {
	part tcp cat /proc/net/tcp
	part tcp6 cat /proc/net/tcp6
	part udp cat /proc/net/udp
	part udp6 cat /proc/net/udp6
}
part ethtool features
part sysctl grep -Hs . /proc/sys/` + echoIgnored[0] + ` /proc/sys/` + echoIgnored[1] + ` /proc/sys/` + defaultTTL + ` /proc/sys/` + hopLimit("*") + `
:
INSIDE
`}
}

// enterNetns runs a command in a network namespace.
func enterNetns(path string) string { return "nsenter --net=" + shellQuote(path) }

func (r *remote) podParts(ctx context.Context, enter string) (map[string]part, error) {
	parts, err := r.run(ctx, askPod(enter), r.Timeout/2, r.Timeout)
	if err != nil && len(parts) == 0 {
		return nil, r.fail(err)
	}
	return parts, nil
}

// findNetns finds the namespace at the other end of a link by its number: the name that ip(8) gives it, else a
// process that lsns(8) shows in it.
func (r *remote) findNetns(ctx context.Context, here *Link) (name, path string, guessed bool, err error) {
	name, err = r.namedNetns(ctx, here)
	switch {
	case err != nil:
		return "", "", false, err
	case name != "":
		return name, namedPath(name), false, nil
	}
	return r.findUnnamedNetns(ctx, here)
}

func namedPath(netns string) string { return "/var/run/netns/" + netns }

// namedNetns returns the name that ip(8) gives the namespace at the other end of a link; empty if it has none.
func (r *remote) namedNetns(ctx context.Context, here *Link) (string, error) {
	out, err := r.part(ctx, "netns", "ip")
	if err != nil {
		return "", err
	}
	var named []struct {
		ID   int `json:"nsid"`
		Name string
	}
	if len(strings.TrimSpace(string(out))) > 0 {
		if err := json.Unmarshal(out, &named); err != nil {
			return "", r.fail(fmt.Errorf("cannot read what ip printed for netns: %w", err))
		}
	}
	for _, ns := range named {
		if ns.ID == *here.PeerNetns && ns.Name != "" && !strings.ContainsAny(ns.Name, "/\x00") {
			return ns.Name, nil
		}
	}
	return "", nil
}

// findUnnamedNetns asks lsns for a process in the namespace with that number; there may be none. Without an lsns that
// knows numbers (util-linux before 2.32, busybox), it guesses the one whose link is the counterpart of ours: links of
// other namespaces may have the same indexes.
func (r *remote) findUnnamedNetns(ctx context.Context, here *Link) (name, path string, guessed bool, err error) {
	p, err := r.ask(ctx, "netns", "seen", question{kernel: strings.ReplaceAll(`
seen() {
	if ids=$(lsns -n -r -t net -o NETNSID,PID 2>/dev/null); then
		printf '%s\n' "$ids" | while read -r id pid; do
			[ "$id" != WANTED ] || [ -z "$pid" ] || printf '/proc/%s/ns/net\n' "$pid"
		done
		return
	fi
	known=" $(readlink /proc/self/ns/net) "
	for p in /proc/[0-9]*/ns/net; do
		i=$(readlink "$p" 2>/dev/null) || continue
		case $known in *" $i "*) continue ;; esac
		known="$known$i "
		j=$(nsenter --net="$p" ip -d -j link) && printf '%s %s\n' "$p" "$j"
	done
}
part seen seen
`, "WANTED", strconv.Itoa(*here.PeerNetns))})
	if err == nil {
		err = r.explain(p, "nsenter or ip")
	}
	if err != nil {
		return "", "", false, err
	}
	for line := range strings.Lines(string(p.out)) {
		at, links, guess := strings.Cut(strings.TrimSpace(line), " ")
		if guess && !counterpart(links, here) {
			continue
		}
		if path != "" {
			return "", "", false, r.fail(unavailable("network namespaces %s and %s both have a link that fits, give the pod's a name in /run/netns", path, at))
		}
		path, guessed = at, guess
	}
	if path == "" {
		return "", "", false, r.fail(unavailable("network namespace %d is neither in /run/netns nor of a process seen there", *here.PeerNetns))
	}
	return path, path, guessed, nil
}

// counterpart reports whether links, as ip(8) prints them, include one that could be the other end of ours.
func counterpart(links string, ours *Link) bool {
	n := &Network{}
	return parseIPAddr([]byte(links), n) == nil && slices.ContainsFunc(n.Links, func(l Link) bool {
		return l.Kind == "veth" && l.Index == ours.PeerIndex && l.PeerIndex == ours.Index
	})
}

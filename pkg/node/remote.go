package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// RemoteConfig says how to reach another node.
type RemoteConfig struct {
	Name     string // of the node
	Hostname string // replaces {hostname}: letters, digits and ._:- only
	// Prefix is the command in front of sh, "ssh {hostname}". It is split into words as a shell would, but no
	// local shell sees it.
	Prefix  string
	Enter   Entry         // instead of a prefix: how to start sh there
	InPod   bool          // it is entered in a pod, which sees the node's network and sockets but not all of its files
	From    string        // what to call the way there; empty: after the prefix
	Timeout time.Duration // per round trip; 5 s
	// Version is as [AnsweredBy] has it.
	Version string
	// DatabaseFirst reads the database without the rest of the node's state, for those who ask for nothing else.
	DatabaseFirst bool
}

// remote reads everything with scripts behind the prefix. One script, run once, gathers the node's snapshot.
type remote struct {
	RemoteConfig
	shells *shells
	ahead  aheads
	busy   gates
	shelf  *Shelf

	database, whole gathered             // guarded by the gate "gather"
	network         *held.Value[Network] // guarded by the gate "network"
}

// gathered is what one script has read: the database, and the rest.
type gathered struct {
	done           bool
	database, rest *held.Value[map[string]part] // on the shelf, and taken apart while in use
	err            error
}

// of returns the parts that a part is kept with.
func (g *gathered) of(name string) (map[string]part, error) {
	kept := g.rest
	if name == databasePart {
		kept = g.database
	}
	parts, err := kept.Get()
	if err != nil {
		return nil, err
	}
	return *parts, g.err
}

// shelve keeps parts of a script's output.
func (s *Shelf) shelve(parts map[string]part) *held.Value[map[string]part] {
	boundary := rand.Text()
	kept := s.keep(frame(parts, boundary))
	return held.New(&parts, func() (*map[string]part, error) {
		text, err := kept.text()
		again := parseParts(text, boundary)
		return &again, err
	})
}

// Stays says that the network is the same whenever it is asked for, as [held.Stays] asks.
func (r *remote) Stays() {}

// hostnamePattern ensures that a hostname, which comes from a database, is only a name and not, say, an option.
var hostnamePattern = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// Remote is a node behind a command prefix. It runs nothing until asked. The node needs sh and the daemons' tools.
func Remote(c RemoteConfig) (Host, error) {
	if len(c.Hostname) > 253 || !hostnamePattern.Get().MatchString(c.Hostname) {
		return nil, fmt.Errorf("node %s: %q is not a hostname, so it is not used in a command", c.Name, c.Hostname)
	}
	c.Name = cmp.Or(c.Name, c.Hostname)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	by := c.From
	if c.Enter == nil {
		words, err := prefixWords(c)
		if err != nil {
			return nil, err
		}
		c.Enter, by = commandEntry(words), words[0]
		c.From = cmp.Or(c.From, "node-exec: "+strings.Join(words, " "))
	}
	return &remote{RemoteConfig: c, shells: newShells(c.Enter, by)}, nil
}

// prefixWords takes apart the prefix of a node.
func prefixWords(c RemoteConfig) ([]string, error) {
	words, err := splitWords(c.Prefix)
	switch {
	case err != nil:
		return nil, fmt.Errorf("command prefix %q: %w", c.Prefix, err)
	case !strings.Contains(c.Prefix, "{hostname}"):
		return nil, fmt.Errorf("command prefix %q: no {hostname} in it, every node would be the same", c.Prefix)
	case strings.Contains(words[0], "{hostname}"):
		return nil, fmt.Errorf("command prefix %q: its first word is the program, {hostname} must come later", c.Prefix)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{hostname}", c.Hostname)
	}
	return words, nil
}

func (r *remote) Name() string   { return r.RemoteConfig.Name }
func (r *remote) Origin() string { return r.From }

// DatabaseFirst has a node on another host read its database without the rest of its state, as [RemoteConfig] has it.
func DatabaseFirst(h Host) {
	if r, ok := h.(*remote); ok {
		r.DatabaseFirst = true
	}
}

// AnsweredBy has an ovnctl of this version answer for a node on another host, if it is installed there: it reads sockets and the
// kernel itself, where a script starts a process for each question. Otherwise the daemons' tools do.
func AnsweredBy(h Host, version string) {
	if r, ok := h.(*remote); ok {
		r.Version = version
	}
}

// databaseScript reads the node's database.
const databaseScript = `
part ` + databasePart + ` ${S}ovsdb-client -t "$SECONDS_EACH" dump -f json "unix:$ovs/db.sock" Open_vSwitch
`

const (
	databasePart = "conf"
	networkPart  = "addr" // the first of what the script has of the network
)

// networkParts read what a namespace has of a network.
const networkParts = `
part ` + networkPart + ` ip -N -d -j addr
part route4 ip -4 -N -d -j route show table all
part route6 ip -6 -N -d -j route show table all
part rule4 ip -4 -N -d -j rule
part rule6 ip -6 -N -d -j rule
part neigh ip -N -s -j neigh
part policies ip xfrm policy
part associations ip xfrm state list nokeys
part tc tc -j qdisc
`

// firewallParts read a namespace's packet filter, by nftables and by the old iptables, whose rules nft cannot see.
const firewallParts = `
legacy() { # legacy NAMES-FILE SAVE-COMMAND
	[ -e "$1" ] && read -r t <"$1" || return 0
	exec "$2" -c
}
part nft nft -a list ruleset
part legacy-ip legacy /proc/net/ip_tables_names iptables-legacy-save
part legacy-ip6 legacy /proc/net/ip6_tables_names ip6tables-legacy-save
`

// gatherScript reads the kernel's state in one go.
const gatherScript = `
sysctls() { grep -Hs . SYSCTLS; :; }
` + networkParts + firewallParts + `
part sysctl sysctls
part netns ip -j netns list-id
`

// gather runs, once, the script that reads a part.
func (r *remote) gather(ctx context.Context, name string) (map[string]part, error) {
	leave, err := r.busy.enter(ctx, "gather")
	if err != nil {
		return nil, r.fail(err)
	}
	defer leave()
	q, g := question{daemons: databaseScript, own: request{Database: true}.own()}, &r.database
	if name != databasePart || !r.DatabaseFirst {
		var paths []string
		for _, key := range sysctlKeys {
			paths = append(paths, "/proc/sys/"+key)
		}
		q.kernel, g = strings.Replace(gatherScript, "SYSCTLS", strings.Join(paths, " "), 1), &r.whole
		q.own = request{Database: true, State: true}.own()
	}
	if !g.done {
		parts, err := r.run(ctx, q, r.Timeout/2, r.Timeout)
		if err != nil && errors.Is(ctx.Err(), context.Canceled) { // the caller gave up, not the node
			return nil, r.fail(err)
		}
		database := map[string]part{}
		if p, ok := parts[databasePart]; ok {
			database[databasePart] = p
			delete(parts, databasePart)
		}
		*g = gathered{done: true, database: r.shelf.shelve(database), rest: r.shelf.shelve(parts), err: err}
	}
	return g.of(name)
}

func (r *remote) fail(err error) error { return fmt.Errorf("node %s: %w", r.Name(), err) }

// part is the output of one gathered command.
func (r *remote) part(ctx context.Context, name, tool string) ([]byte, error) {
	parts, err := r.gather(ctx, name)
	p, ok := parts[name]
	if !ok {
		return nil, r.unanswered(name, err)
	}
	return p.out, r.explain(p, tool)
}

// unanswered is the error of a part that a script's output lacks.
func (r *remote) unanswered(name string, err error) error {
	if err == nil {
		err = errors.New("no reply from its shell to the question for " + name)
	}
	return r.fail(err)
}

// explain is the error of a command that failed there.
func (r *remote) explain(p part, tool string) error {
	switch p.code {
	case 0:
		return nil
	case codeNoProgram:
		return r.fail(unavailable("%s is not installed there", tool))
	case codeLate, 128 + int(syscall.SIGALRM): // ovs-appctl -T
		return r.fail(fmt.Errorf("%s: no reply in time: %w", tool, context.DeadlineExceeded))
	}
	text := strings.TrimSpace(p.err)
	if text == "" {
		text = fmt.Sprintf("exit status %d", p.code)
	}
	return r.fail(fmt.Errorf("%s: %s", tool, text))
}

func (r *remote) Vswitch(ctx context.Context) (ovsdb.Reader, error) {
	out, err := r.part(ctx, databasePart, "ovsdb-client")
	if err != nil {
		return nil, err
	}
	db, err := ovsdb.ParseDump("Open_vSwitch", r.Origin(), bytes.NewReader(out))
	if err != nil {
		return nil, r.fail(err)
	}
	return db, nil
}

func (r *remote) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	if err := checkControl(daemon, command, args); err != nil {
		return "", err
	}
	if err := survives(ctx, r, daemon, command, args); err != nil {
		return "", err
	}
	p, err := r.ask(ctx, daemon, "control", askControl(daemon, command, args))
	if err != nil {
		return "", fmt.Errorf("%s: %w", daemon, err)
	}
	text := strings.TrimRight(p.err, "\n")
	switch said, refused := strings.CutSuffix(text, refusedSuffix); {
	case p.code == codeNotThere:
		return "", fmt.Errorf("%s: %s, the daemon does not run there", daemon, strings.TrimSpace(p.err))
	case p.code == codeRefused && refused:
		said = said[:max(strings.LastIndexByte(said, '\n'), 0)]
		return "", &ControlError{Daemon: daemon, Command: command, Text: said}
	}
	if err := r.explain(p, "ovs-appctl"); err != nil {
		return "", fmt.Errorf("%s: %w", daemon, err)
	}
	return string(p.out), nil
}

// refusedSuffix is what ovs-appctl(8) says last of a command that a daemon refused.
const refusedSuffix = ": server returned an error"

// askControl sends a command to a daemon.
func askControl(daemon, command string, args []string) question {
	dir := `"$ovs"`
	if ovnDaemon(daemon) {
		dir = `"$ovn"`
	}
	words := []string{shellQuote(command)}
	for _, a := range args {
		words = append(words, shellQuote(a))
	}
	return question{daemons: fmt.Sprintf(`
control() {
	s=$(ctl %[1]s %[2]s) || { echo "no control socket in" %[2]s >&2; return 3; }
	for a in ovs-appctl ovn-appctl; do
		command -v "$S$a" >/dev/null 2>&1 && exec "$S$a" -T "$SECONDS_EACH" -t "$s" "$@"
	done
	return 127
}
part control control %[3]s
`, daemon, dir, strings.Join(words, " ")), own: request{Control: append([]string{daemon, command}, args...)}.own()}
}

// ask asks a question of one part, one at a time per daemon.
func (r *remote) ask(ctx context.Context, daemon, name string, q question) (part, error) {
	leave, err := r.busy.enter(ctx, daemon)
	if err != nil {
		return part{}, r.fail(fmt.Errorf("another command is still under way: %w", err))
	}
	defer leave()
	parts, err := r.run(ctx, q, r.Timeout, r.Timeout)
	p, ok := parts[name]
	if !ok {
		return part{}, r.unanswered(name, err)
	}
	return p, nil
}

func (r *remote) Dump(ctx context.Context, bridge string, kind DumpKind) (string, error) {
	if err := checkDump(bridge, kind); err != nil {
		return "", err
	}
	p, err := r.ask(ctx, "ovs-vswitchd", "dump", askDump(bridge, kind))
	if err == nil {
		err = r.explain(p, "ovs-ofctl")
	}
	if err != nil {
		return "", fmt.Errorf("bridge %s: %w", bridge, err)
	}
	return string(p.out), nil
}

// askDump reads a bridge.
func askDump(bridge string, kind DumpKind) question {
	args := ofctlArgs(kind, "")
	return question{
		daemons: fmt.Sprintf("part dump ${S}ovs-ofctl -t \"$SECONDS_EACH\" %s \"unix:$ovs/\"%s\n", strings.Join(args[:len(args)-1], " "), shellQuote(bridge+".mgmt")),
		own:     request{Dump: []string{bridge, string(kind)}}.own(),
	}
}

// Network is parsed once while it is in use. Its text is kept, packed, and parsed again when it is asked for after that: with hundreds of nodes it
// is most of what would be held.
func (r *remote) Network(ctx context.Context) (*Network, error) {
	leave, err := r.busy.enter(ctx, "network")
	if err != nil {
		return nil, r.fail(err)
	}
	defer leave()
	if r.network != nil {
		return r.network.Get()
	}
	n, err := r.parseNetwork(ctx)
	if err == nil {
		whenever := context.WithoutCancel(ctx) // the text is there
		r.network = held.New(n, func() (*Network, error) { return r.parseNetwork(whenever) })
	}
	return n, err
}

// ownState reads a part that ovnctl gave of the node's state.
func (r *remote) ownState(ctx context.Context, name string, v any) error {
	parts, err := r.gather(ctx, name)
	p, ok := parts[name]
	if !ok {
		return r.unanswered(name, err)
	}
	return r.ownPart(p, v)
}

// answersItself reports whether ovnctl gave the node's state.
func (r *remote) answersItself(ctx context.Context) bool {
	parts, _ := r.gather(ctx, networkPart)
	_, own := parts[ownNetworkPart]
	return own
}

func (r *remote) parseNetwork(ctx context.Context) (*Network, error) {
	if r.answersItself(ctx) {
		n := &Network{}
		err := r.ownState(ctx, ownNetworkPart, n)
		return n, err
	}
	n, err := parseNetwork(func(name string) ([]byte, error) { return r.part(ctx, name, "ip") })
	if err != nil {
		return nil, err
	}
	out, err := r.part(ctx, "sysctl", "sh")
	if err != nil {
		return nil, err
	}
	n.Sysctl = sysctlsOf(out)
	return n, nil
}

// sysctlsOf parses lines of grep -H, PATH:VALUE.
func sysctlsOf(text []byte) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if path, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[strings.TrimPrefix(path, "/proc/sys/")] = value
		}
	}
	return all
}

func (r *remote) Route(ctx context.Context, q RouteQuery) (*Route, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if n, err := r.Network(ctx); err == nil {
		if route, ok := n.told(q); ok {
			return route, nil
		}
	}
	return remoteRouter{r, ctx, "ip", r.Network}.route(q)
}

// A remoteRouter asks ip(8), which may run in another namespace, for routes.
type remoteRouter struct {
	*remote
	ctx     context.Context
	ip      string
	network func(context.Context) (*Network, error)
}

func (r remoteRouter) route(q RouteQuery) (*Route, error) {
	answer, err := r.lookup(q)
	if err != nil {
		return nil, fmt.Errorf("route lookup for %s: %w", q, err)
	}
	return answer, nil
}

func (r remoteRouter) lookup(q RouteQuery) (*Route, error) {
	script := "part route " + r.ip + " -N -d -j route get " + shellQuote(q.Dst.String())
	if q.Src.IsValid() {
		script += " from " + shellQuote(q.Src.String())
	}
	if q.Iif != "" {
		script += " iif " + shellQuote(q.Iif)
	}
	if q.Mark != 0 {
		script += fmt.Sprintf(" mark %d", q.Mark)
	}
	p, err := r.ask(r.ctx, "route", "route", question{kernel: script + "\n"})
	if err != nil {
		return nil, err
	}
	if errno := answeredErrno(p.err); p.code != 0 && errno != 0 {
		return refusedRoute(q, errno, r)
	}
	if err := r.explain(p, "ip"); err != nil {
		return nil, err
	}
	routes, err := parseIPRoute(p.out, q.Dst.Is6())
	if err != nil || len(routes) == 0 {
		return nil, r.fail(fmt.Errorf("ip route get: cannot read its answer: %w", cmp.Or(err, errors.New("empty"))))
	}
	return answerRoute(q, routes[0]), nil
}

func (r remoteRouter) owns(a netip.Addr) (bool, error) {
	n, err := r.network(r.ctx)
	if err != nil {
		return false, err
	}
	return n.Owns(a), nil
}

// answeredErrno finds the kernel's error number in ip(8)'s message, in the words of glibc or musl.
func answeredErrno(text string) syscall.Errno {
	_, text, ok := strings.Cut(text, "RTNETLINK answers: ")
	if !ok {
		return 0
	}
	for _, e := range []struct {
		text  string
		errno syscall.Errno
	}{
		{"Network is unreachable", syscall.ENETUNREACH}, {"Network unreachable", syscall.ENETUNREACH},
		{"No route to host", syscall.EHOSTUNREACH}, {"Host is unreachable", syscall.EHOSTUNREACH},
		{"Permission denied", syscall.EACCES},
		{"Invalid cross-device link", syscall.EXDEV}, {"Cross-device link", syscall.EXDEV},
		{"Invalid argument", syscall.EINVAL},
	} {
		if strings.HasPrefix(text, e.text) {
			return e.errno
		}
	}
	return 0
}

func (r *remote) Firewall(ctx context.Context) (chains []Chain, err error) {
	if r.answersItself(ctx) {
		err = r.ownState(ctx, ownFirewallPart, &chains)
		return chains, err
	}
	return parseFirewall(func(name, program string) ([]byte, error) { return r.part(ctx, name, program) })
}

// parseFirewall builds a packet filter from its parts.
func parseFirewall(get func(part, program string) ([]byte, error)) ([]Chain, error) {
	out, err := get("nft", "nft")
	if err != nil {
		return nil, fmt.Errorf("packet filter: %w", err)
	}
	chains := parseNFT(string(out))
	for _, t := range legacyTables {
		out, err := get("legacy-"+t.family, t.save)
		if err != nil {
			return nil, fmt.Errorf("packet filter: there are %s rules that nft does not show: %w", t.family, err)
		}
		chains = append(chains, parseIptables(t.family, string(out))...)
	}
	return chains, nil
}

func (r *remote) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("%q is not a path", path)
	}
	p, err := r.ask(ctx, "file", "file", question{kernel: fmt.Sprintf(`
file() {
	[ -f "$1" ] || { cat "$1" >/dev/null && echo "$1: not a regular file" >&2; return 1; }
	[ "$(wc -c <"$1")" -le %d ] || { echo "$1: larger than %[1]d bytes" >&2; return 1; }
	cat "$1"
}
part file file %s
`, maxFile, shellQuote("/"+strings.TrimLeft(path, "/")))})
	if err != nil {
		return nil, err
	}
	if strings.Contains(p.err, "No such file") {
		return nil, r.fail(fmt.Errorf("%s: %w", path, fs.ErrNotExist))
	}
	return p.out, r.explain(p, "cat")
}

// parseNetwork builds a Network from the parts that ip(8) printed.
func parseNetwork(get func(part string) ([]byte, error)) (*Network, error) {
	n := &Network{}
	for _, p := range []struct {
		name  string
		parse func([]byte) error
	}{
		{"addr", func(b []byte) error { return parseIPAddr(b, n) }},
		{"route4", func(b []byte) error {
			return add(&n.Routes, b, func(b []byte) ([]Route, error) { return parseIPRoute(b, false) })
		}},
		{"route6", func(b []byte) error {
			return add(&n.Routes, b, func(b []byte) ([]Route, error) { return parseIPRoute(b, true) })
		}},
		{"rule4", func(b []byte) error {
			return add(&n.Rules, b, func(b []byte) ([]Rule, error) { return parseIPRule(b, 4) })
		}},
		{"rule6", func(b []byte) error {
			return add(&n.Rules, b, func(b []byte) ([]Rule, error) { return parseIPRule(b, 6) })
		}},
		{"neigh", func(b []byte) error { return add(&n.Neighbours, b, parseIPNeighbour) }},
	} {
		out, err := get(p.name)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(out)) == 0 { // some versions' empty list
			continue
		}
		if err := p.parse(out); err != nil {
			return nil, fmt.Errorf("cannot read what ip printed for %s: %w", p.name, err)
		}
	}
	if out, err := get("tc"); err == nil && len(bytes.TrimSpace(out)) > 0 { // not everywhere is there a tc
		if err := parseTC(out, n); err != nil {
			return nil, fmt.Errorf("cannot read what tc printed: %w", err)
		}
	}
	policies, err := get("policies")
	associations, err2 := get("associations")
	if err == nil && err2 == nil {
		n.IPsec = parseXfrm(string(policies), string(associations))
	}
	n.sort()
	return n, nil
}

func add[T any](to *[]T, b []byte, parse func([]byte) ([]T, error)) error {
	list, err := parse(b)
	*to = append(*to, list...)
	return err
}

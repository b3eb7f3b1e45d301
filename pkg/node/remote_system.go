package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// read runs a one-part script that reads something from the node.
func (r *remote) read(ctx context.Context, name, tool, script string) (string, error) {
	p, err := r.ask(ctx, "system", name, question{kernel: script})
	if err != nil {
		return "", err
	}
	if strings.Contains(p.err, "No such file") {
		return "", r.fail(fmt.Errorf("%s: %w", strings.TrimSpace(p.err), fs.ErrNotExist))
	}
	return string(p.out), r.explain(p, tool)
}

func (r *remote) Dirs(ctx context.Context) (Dirs, error) {
	var script strings.Builder
	script.WriteString("\ndirs() {\n\techo \"ovs=$ovs\"; echo \"ovn=$ovn\"\n")
	for _, p := range dirPlaces {
		fmt.Fprintf(&script, "\techo \"%[1]s=$%[1]s\"\n\tfor f in", p.env)
		for _, dir := range p.places {
			script.WriteString(" " + dir)
			for _, file := range p.files {
				script.WriteString(" " + path.Join(dir, file))
			}
		}
		script.WriteString("; do [ -e \"$f\" ] && echo \" $f\"; done\n")
	}
	script.WriteString("\treturn 0\n}\npart dirs dirs\n")
	out, err := r.read(ctx, "dirs", "sh", script.String())
	if err != nil {
		return Dirs{}, err
	}
	env, there := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if file, ok := strings.CutPrefix(line, " "); ok {
			there[file] = true
		} else if key, value, ok := strings.Cut(line, "="); ok {
			env[key] = value
		}
	}
	known := Dirs{OVSRun: env["ovs"], OVNRun: env["ovn"]}
	return findDirs(known, func(name string) string { return env[name] }, func(path string) bool { return there[path] }), nil
}

// daemonsScript queries all control sockets in parallel, for half the script's time; each line is written at once.
const daemonsScript = `
ask() {
	for a in "${S}ovs-appctl" "${S}ovn-appctl" ''; do command -v "$a" >/dev/null 2>&1 && break; done
	[ -n "$a" ] || { printf 'socket\0379\037%s\037\n' "$1"; return; }
	e=$("$a" -T "$(((SECONDS_EACH + 1) / 2))" -t "$1" version 2>&1); c=$?
	which=head; [ $c = 0 ] || which=tail # the reason stands last
	printf 'socket\037%s\037%s\037%s\n' "$c" "$1" "$(printf '%s\n' "$e" | $which -n 1)"
}
daemons() {
	n=0
	dirs=$ovs; [ "$ovs" -ef "$ovn" ] || dirs="$ovs
$ovn"
	IFS='
'
	for d in $dirs; do
		for s in $(ls -1t "$d" 2>/dev/null); do
			n=$((n + 1)); [ $n -gt MAX ] && break
			case $s in
			*.ctl) [ -S "$d/$s" ] && ask "$d/$s" & ;;
			*.pid) [ -f "$d/$s" ] && printf 'pid\037%s\037%s\n' "$(head -n 1 "$d/$s" 2>/dev/null)" "$d/$s" ;;
			esac
		done
	done
	wait
}
part daemons daemons
`

func (r *remote) Daemons(ctx context.Context) ([]Daemon, error) {
	out, err := r.read(ctx, "daemons", "ovs-appctl", strings.Replace(daemonsScript, "MAX", strconv.Itoa(5*maxDaemons), 1))
	if err != nil {
		return nil, err
	}
	var list []Daemon
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x1f")
		if len(f) < 3 || len(list) == maxDaemons {
			continue
		}
		d, socket, ok := daemonOf(path.Base(f[2]))
		if !ok || socket != (f[0] == "socket") {
			continue
		}
		d.Path = f[2]
		switch {
		case !socket:
			d.State = NoSocket
			d.PID, _ = parsePID(f[1])
		case len(f) < 4:
			continue
		case f[1] == "9":
			return nil, r.fail(unavailable("neither ovs-appctl nor ovn-appctl is installed there"))
		case f[1] == "0" || strings.HasSuffix(f[3], "server returned an error"):
			d.State, d.Version = Answers, versionOf(f[3])
		case f[1] == strconv.Itoa(128+int(syscall.SIGALRM)), strings.HasSuffix(f[3], "(Protocol error)"): // ovs-appctl: queue is full
			d.State = Hung
		default:
			d.State = Refused
		}
		list = append(list, d)
	}
	list = dropPidfiles(list)
	sortDaemons(list)
	return list, nil
}

func (r *remote) Log(ctx context.Context, daemon string) (string, error) {
	if err := checkName("log", daemon); err != nil {
		return "", err
	}
	dirs, err := r.Dirs(ctx)
	if err != nil {
		return "", err
	}
	files := dirs.logFiles(daemon)
	var quoted []string
	for _, f := range files {
		quoted = append(quoted, shellQuote(f))
	}
	out, err := r.read(ctx, "log", "tail", fmt.Sprintf(`
log() {
	f=$(ls -1t "$@" 2>/dev/null | head -n 1)
	[ -f "$f" ] || { echo "No such file" >&2; return 1; }
	wc -c <"$f" && tail -c %d "$f"
}
part log log %s
`, maxLog, strings.Join(quoted, " ")))
	if errors.Is(err, fs.ErrNotExist) {
		return "", r.fail(noLog(daemon, files))
	}
	if err != nil {
		return "", err
	}
	size, text, _ := strings.Cut(out, "\n")
	n, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	if err != nil {
		return "", r.fail(fmt.Errorf("log of %s: cannot read its size %q", daemon, size))
	}
	return lastLines(text, n > maxLog), nil
}

func (r *remote) Glob(ctx context.Context, pattern string) ([]string, error) {
	parts, err := globParts(pattern)
	if err != nil {
		return nil, err
	}
	var words strings.Builder
	for _, part := range parts {
		words.WriteString("/" + shellPattern(part))
	}
	out, err := r.read(ctx, "glob", "sh", fmt.Sprintf(`
glob() {
	[ $# -le %d ] || { echo "more than %[1]d paths match" >&2; return 1; }
	for f in "$@"; do { [ -e "$f" ] || [ -L "$f" ]; } && printf '%%s\n' "$f"; done
	return 0
}
part glob glob %s
`, maxGlob, words.String()))
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(out) {
		// The shell's patterns match slightly more.
		name := strings.TrimSuffix(line, "\n")
		names := strings.Split(strings.Trim(name, "/"), "/")
		ok := len(names) == len(parts)
		for i := range min(len(names), len(parts)) {
			ok = ok && (names[i] == parts[i] || names[i] != "" && matchPart(parts[i], names[i]))
		}
		if ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// shellPattern converts an element of a path.Match pattern for sh: all but the wildcards is quoted.
func shellPattern(part string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == '\\' && i+1 < len(part):
			i++
			b.WriteString(shellQuote(part[i : i+1]))
		case c == '[' && !class:
			class = true
			b.WriteByte(c)
			if i+1 < len(part) && part[i+1] == '^' {
				i++
				b.WriteByte('!')
			}
		case c == ']' && class:
			class = false
			b.WriteByte(c)
		case !class && (c == '*' || c == '?'), class && c == '-':
			b.WriteByte(c)
		default:
			b.WriteString(shellQuote(string(c)))
		}
	}
	return b.String()
}

// processesScript lists each process that may be a daemon; its lines follow its "p".
const processesScript = `
processes() {
	while read -r l; do case $l in btime*) echo "b $l" ;; esac; done </proc/stat
	while read -r l; do echo "f $l"; done </proc/1/cgroup
	echo "F $(readlink /proc/1/ns/pid)"
	for p in /proc/[0-9]*; do
		comm=
		{ read -r comm <"$p/comm"; } 2>/dev/null || continue
		case $comm in
		ovs*|ovn*|kube-ovn*|neutron-ovn*|start-*|python*|sh|bash|dash|ash|busybox|tini|dumb-init) ;;
		*) continue ;;
		esac
		{ args=$(tr '\000\n' '\037 ' <"$p/cmdline"); } 2>/dev/null || continue
		case $args in *ovs*|*ovn*|*start-*) ;; *) continue ;; esac
		own=
		[ "$p/ns/net" -ef /proc/self/ns/net ] && own=1
		env=$(tr '\000\n' '\n ' <"$p/environ" 2>/dev/null | grep -a '^OV[SN]_RUNDIR=')
		IFS='
'
		for e in $env; do
			d=${e#*=}
			[ "$p/root$d" -ef "$ovs" ] || [ "$p/root$d" -ef "$ovn" ] && own="${own:-}${e%%=*} "
		done
		[ -n "$own" ] || continue # what follows takes a command each, and the processes of other hosts and containers may be many
		echo "p ${p#/proc/}"
		echo "o $own"
		printf 'a %s\n' "$args"
		for e in $env; do echo "e $e"; done
		echo "x $(readlink "$p/exe" 2>/dev/null)"
		echo "n $(readlink "$p/ns/pid" 2>/dev/null)"
		while read -r l; do echo "c $l"; done <"$p/cgroup"
		while read -r l; do echo "s $l"; done <"$p/stat"
	done 2>/dev/null
	return 0
}
part processes processes
`

func (r *remote) Processes(ctx context.Context) ([]Process, error) {
	out, err := r.read(ctx, "processes", "sh", processesScript)
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut("\n"+out, "\np ")
	first := fieldsOf(head)
	boot := bootTime(first["b"])
	firstCgroup := mainCgroup(first["f"])
	var list []Process
	for text := range strings.SplitSeq(rest, "\np ") {
		line, text, _ := strings.Cut(text, "\n")
		pid, ok := parsePID(line)
		f := fieldsOf(text)
		p := Process{PID: pid, Args: strings.Split(strings.TrimRight(strings.TrimSuffix(f["a"], "\n"), "\x1f"), "\x1f")}
		named := false
		if p.Name, named = daemonProgram(p.Args); !ok || !named {
			continue
		}
		p.RunDir = runDirOf(p.Name, strings.SplitSeq(f["e"], "\n"))
		key := "OVS_RUNDIR "
		if ovnDaemon(p.Name) {
			key = "OVN_RUNDIR "
		}
		if own := strings.TrimSuffix(f["o"], "\n"); !strings.HasPrefix(own, "1") && !strings.Contains(own, key) {
			continue
		}
		p.Exe, p.Deleted = strings.CutSuffix(strings.TrimSuffix(f["x"], "\n"), " (deleted)")
		p.Cgroup = mainCgroup(f["c"])
		p.Container = contained(p.Cgroup, firstCgroup, strings.TrimSpace(f["n"]), strings.TrimSpace(first["F"]))
		p.State, p.Started = parseStat(f["s"], boot)
		list = append(list, p)
	}
	sortProcesses(list)
	return list, nil
}

// fieldsOf groups lines by their first letter.
func fieldsOf(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, " "); ok {
			fields[key] += value
		}
	}
	return fields
}

func (r *remote) Space(ctx context.Context, path string) (Space, error) {
	if strings.ContainsRune(path, 0) {
		return Space{}, fmt.Errorf("%q is not a path", path)
	}
	out, err := r.read(ctx, "space", "df", "part space $T df -P -k "+shellQuote("/"+strings.TrimLeft(path, "/"))+"\n")
	if err != nil {
		return Space{}, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	f := strings.Fields(lines[len(lines)-1])
	for i := range f { // the device name may hold blanks: the percentage is the last field but the path
		if i < 4 || !strings.HasSuffix(f[i], "%") && f[i] != "-" {
			continue
		}
		size, err := strconv.ParseInt(f[i-3], 10, 64)
		free, err2 := strconv.ParseInt(f[i-1], 10, 64)
		if err == nil && err2 == nil {
			return Space{Size: size << 10, Free: free << 10}, nil
		}
	}
	return Space{}, r.fail(fmt.Errorf("space of %s: cannot read what df printed", path))
}

func (r *remote) Unit(ctx context.Context, name string) (Unit, error) {
	if err := checkName("service", name); err != nil {
		return Unit{}, err
	}
	out, err := r.read(ctx, "unit", "systemctl", fmt.Sprintf(`
unit() { [ -d /run/systemd/system ] || return 127; $T systemctl %s -- "$1"; }
part unit unit %s
`, strings.Join(unitProperties, " "), shellQuote(name)))
	if errors.Is(err, ErrUnavailable) {
		return Unit{}, r.fail(noSystemd(name))
	}
	if err != nil {
		return Unit{}, err
	}
	return parseUnit(name, out), nil
}

func (r *remote) Features(ctx context.Context, link string) (map[string]bool, error) {
	if !validLink(link) {
		return nil, badName("link", link)
	}
	p, err := r.ask(ctx, "system", "features", question{kernel: "part features ethtool -k " + shellQuote(link) + "\n"})
	if err != nil {
		return nil, err
	}
	if strings.Contains(p.err, "No such device") || strings.Contains(p.err, "no device matches name") {
		return nil, r.fail(fmt.Errorf("offloads of %s: %w", link, fs.ErrNotExist))
	}
	return parseFeatures(string(p.out)), r.explain(p, "ethtool")
}

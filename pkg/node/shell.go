package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// splitWords splits a command prefix as a shell would, without expanding
// anything: blanks separate, quotes and backslashes protect.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	started, escaped, quote := false, false, byte(0)
	for _, c := range []byte(s) {
		switch {
		case escaped:
			if quote == '"' && strings.IndexByte("\"\\$`", c) < 0 {
				word.WriteByte('\\')
			}
			word.WriteByte(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if started {
				words = append(words, word.String())
				word.Reset()
			}
			started = false
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// shellQuote makes s one word for sh.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// A part is one script command's result.
type part struct {
	out  []byte
	err  string // its standard error
	code int
}

// snapPrefix is what MicroOVN's snap puts before the names of the daemons' programs.
const snapPrefix = "/snap/bin/microovn."

// preamble defines what the scripts use. $S stands before the names of the daemons' programs. part NAME COMMAND… runs a
// command and frames its output, exit status and stderr, by the name after $A; ended NAME is a frame without a command. A script
// is a function, read before anything runs: no command can consume the rest of it. What asks a daemon or a disk has a time limit of its
// own, $T or an option; what asks the kernel's network has that of the whole script alone: timeout(1) takes longer than the answer.
var preamble = lazy.Value[string]{Make: func() string {
	return strings.NewReplacer("OVSDIRS", strings.Join(OVSRunDirs, " "), "OVNDIRS", strings.Join(OVNRunDirs, " "), "SNAP", snapPrefix).Replace(preambleText)
}}

const preambleText = `
PATH=${P0:=$PATH}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin; LC_ALL=C; export PATH LC_ALL
T=; command -v timeout >/dev/null 2>&1 && T="timeout $SECONDS_EACH"
S=; command -v ovs-appctl >/dev/null 2>&1 || { [ -x SNAPovs-appctl ] && S=SNAP; }
part() {
	n=$A$1; shift
	printf '%s begin %s\n' "$B" "$n"
	{ e=$("$@" 2>&1 1>&3 </dev/null); r=$?; } 3>&1
	printf '\n%s said %s %s\n%s\n%s end %s\n' "$B" "$n" "$r" "$e" "$B" "$n"
}
ended() { printf '%s begin %s\n\n%s said %s 0\n\n%s end %s\n' "$B" "$A$1" "$B" "$A$1" "$B" "$A$1"; }
absent() { echo "$1" >&2; return 127; }
rundir() { # the first directory with one of the files: rundir FILE DIR…
	f=$1; shift
	for d in "$@"; do
		for x in "$d"/$f; do [ -e "$x" ] && { echo "$d"; return; }; done
	done
	echo "$1"
}
ctl() { # the control socket of a daemon: ctl DAEMON DIR
	p=
	{ read -r p <"$2/$1.pid"; } 2>/dev/null
	for s in "$2/$1.$p.ctl" "$2/$1.ctl" "$2/$1".[0-9]*.ctl; do
		[ -S "$s" ] && { echo "$s"; return; }
	done
	return 1
}
if [ -n "$OVS_RUNDIR" ]; then ovs=$OVS_RUNDIR; else ovs=$(rundir db.sock OVSDIRS); fi
if [ -n "$OVN_RUNDIR" ]; then ovn=$OVN_RUNDIR; else ovn=$(rundir 'ovn-controller.*' OVNDIRS); fi
`

// parseParts parses the frames of the preamble's part function. One that another begins in was not ended: who printed it died.
func parseParts(b []byte, boundary string) map[string]part {
	parts := map[string]part{}
	begin := []byte(boundary + " begin ")
	for {
		_, rest, ok := bytes.Cut(b, begin)
		if !ok {
			return parts
		}
		line, rest, _ := bytes.Cut(rest, []byte("\n"))
		name := string(line)
		var p part
		var head []byte
		frame := rest
		p.out, rest, ok = bytes.Cut(rest, []byte("\n"+boundary+" said "+name+" "))
		if another := bytes.Index(p.out, begin); another >= 0 {
			b = frame[another:]
			continue
		}
		if !ok {
			return parts
		}
		if head, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return parts
		}
		code, err := strconv.Atoi(string(head))
		if err != nil {
			return parts
		}
		p.code = code
		text, rest, ok := bytes.Cut(rest, []byte("\n"+boundary+" end "+name))
		if !ok {
			return parts
		}
		p.err = string(text)
		parts[name] = p
		b = rest
	}
}

// frame is the text that [parseParts] takes apart.
func frame(parts map[string]part, boundary string) []byte {
	var b bytes.Buffer
	for name, p := range parts {
		fmt.Fprintf(&b, "%[1]s begin %[2]s\n%[3]s\n%[1]s said %[2]s %[4]d\n%[5]s\n%[1]s end %[2]s\n", boundary, name, p.out, p.code, p.err)
	}
	return b.Bytes()
}

// A bounded buffer keeps the first bytes written to it and reports if there were more. It embeds no bytes.Buffer, whose ReadFrom
// io.Copy would use.
type bounded struct {
	kept  []byte
	limit int
	over  bool
	full  func()
}

// ReadFrom is Write for io.Copy, whose own buffer is 32 KiB for as long as a shell is open.
func (b *bounded) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	for chunk := make([]byte, 512); ; {
		n, err := r.Read(chunk)
		_, _ = b.Write(chunk[:n]) // never fails
		total += int64(n)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.limit-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	if n < len(p) && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

package node

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// A relay is a program that joins its standard input and output to the unix socket "$1", and the shell command that
// tells whether a node has one that can.
type relay struct{ name, has, run string }

// relays are the programs that are looked for, in order. Those without a process of their own for each direction come
// first; netcat has many makes, of which some know no unix sockets.
var relays = []relay{
	{"socat", `command -v socat`, `exec socat -b 65536 STDIO "UNIX-CONNECT:$1"`},
	{"ncat", `command -v ncat`, `exec ncat -U "$1"`},
	{"nc", `nc -h 2>&1 | grep -q -e '\[-[0-9A-Za-z]*U' -e '-U,'`, `exec nc -U "$1"`},
	{"python3", `python3 -c 'import socket, threading'`, `exec python3 -c '
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
except OSError as e:
    sys.exit(str(e))
def up():
    while True:
        b = os.read(0, 65536)
        if not b:
            return s.shutdown(socket.SHUT_WR)
        s.sendall(b)
threading.Thread(target=up, daemon=True).start()
while True:
    b = s.recv(65536)
    if not b:
        break
    while b:
        b = b[os.write(1, b):]
' "$1"`},
	{"perl", `perl -MIO::Socket::UNIX -e 1`, `exec perl -MIO::Socket::UNIX -e '
my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$!\n";
sub pass {
	my ($from, $to) = @_;
	while (sysread($from, my $b, 65536)) {
		for (my $o = 0; $o < length $b; ) {
			my $n = syswrite($to, $b, length($b) - $o, $o);
			return unless $n;
			$o += $n;
		}
	}
}
my $child = fork;
die "$!\n" unless defined $child;
if ($child == 0) {
	pass(\*STDIN, $s);
	$s->shutdown(1);
	exit;
}
pass($s, \*STDOUT);
kill 9, $child;
' "$1"`},
}

// relayScript defines relay, which prints the names of the relays that a node has.
func relayScript() string {
	var script strings.Builder
	script.WriteString("\nrelay() {\n")
	for _, r := range relays {
		fmt.Fprintf(&script, "\t{ %s; } >/dev/null 2>&1 && echo %s\n", r.has, r.name)
	}
	script.WriteString("\treturn 0\n}\npart relay relay\n")
	return script.String()
}

// socketPath is what a path must look like to be opened on another node: programs give some characters a meaning.
var socketPath = pattern.New(`^/[A-Za-z0-9._/@+-]{1,106}$`)

// stream connects to a unix socket on the node with a relay there. The shell that reads the script becomes the relay.
func (r *remote) stream(ctx context.Context, with relay, socket string) (net.Conn, error) {
	if !socketPath.Get().MatchString(socket) {
		return nil, r.fail(fmt.Errorf("%q is not used as the path of a socket", socket))
	}
	return r.begin(ctx, "set -- "+shellQuote(socket), with.run, nil)
}

// begin starts a shell and waits until it is about to run the last lines of a script, which then read its standard input.
func (r *remote) begin(ctx context.Context, before, last string, stderr io.Writer) (*stream, error) {
	sh, err := startShell(r.Enter, stderr)
	if err != nil {
		return nil, r.fail(fmt.Errorf("%s: %w", r.shells.by, err))
	}
	// Nothing but the script may be sent before the last lines run: the shell would take it.
	ready := rand.Text() + " ready"
	script := fmt.Sprintf("main() {\nB=\nSECONDS_EACH=1\n%s\n%s\necho '%s'\n%s\n}\nmain\n", preamble.Get(), before, ready, last)
	stop := context.AfterFunc(ctx, sh.end)
	defer stop()
	s := newStream(sh)
	if _, err = io.WriteString(sh.in, script); err == nil {
		err = s.await(ready)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		sh.end()
		return nil, r.fail(fmt.Errorf("%s: %w", r.shells.by, s.reason(err)))
	}
	return s, nil
}

// A stream is a connection through a relay.
type stream struct {
	sh   *shell
	from *bufio.Reader
}

func newStream(sh *shell) *stream { return &stream{sh: sh, from: bufio.NewReaderSize(sh.out, 64<<10)} }

// await skips what a login prints, up to a line.
func (s *stream) await(line string) error {
	for skipped := 0; skipped < 64<<10; {
		text, err := s.from.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if strings.TrimRight(string(text), "\r\n") == line {
			return nil
		}
		skipped += len(text)
	}
	return errors.New("it prints too much before its first command")
}

// lastWords is how long the end of a relay may take to say why.
const lastWords = time.Second

// reason is what the relay said before it ended, else err.
func (s *stream) reason(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	select {
	case <-s.sh.exited():
		if text := strings.TrimSpace(string(s.sh.said.kept)); text != "" {
			return errors.New(text)
		}
	case <-time.After(lastWords):
	}
	return err
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if n == 0 && err != nil {
		err = s.reason(err)
	}
	return n, err
}

func (s *stream) Write(b []byte) (int, error) { return s.sh.in.Write(b) }

func (s *stream) Close() error {
	s.sh.end()
	return nil
}

func (s *stream) LocalAddr() net.Addr                { return streamAddr{} }
func (s *stream) RemoteAddr() net.Addr               { return streamAddr{} }
func (s *stream) SetReadDeadline(t time.Time) error  { return s.sh.out.SetReadDeadline(t) }
func (s *stream) SetWriteDeadline(t time.Time) error { return s.sh.in.SetWriteDeadline(t) }
func (s *stream) SetDeadline(t time.Time) error {
	return cmp.Or(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// A streamAddr is neither end's address: a stream has none.
type streamAddr struct{}

func (streamAddr) Network() string { return "unix" }
func (streamAddr) String() string  { return "" }

package node

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// listenScript listens with what the node has: ovnctl itself, which sees into pods, or tcpdump. Both end when standard
// input does.
const listenScript = `main() {
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin; LC_ALL=C; export PATH LC_ALL
if command -v ovnctl >/dev/null 2>&1 && ovnctl probe listen --help >/dev/null 2>&1; then
	exec ovnctl probe listen ARGS
fi
if command -v tcpdump >/dev/null 2>&1; then
	tcpdump --immediate-mode -i any -y LINUX_SLL2 -U -s SIZE -c COUNT -w - FILTER </dev/null &
	p=$!
	( sleep SECONDS; kill $p ) </dev/null >/dev/null 2>&1 &
	t=$!
	read -r _
	kill $p $t 2>/dev/null
	wait $p
	exit 0
fi
echo 'neither ovnctl nor tcpdump is installed' >&2
exit 127
}
main
`

func (r *remote) Listen(ctx context.Context, w Watch, see func(Frame)) (*Listening, error) {
	network, err := r.Network(ctx) // names for the numbers of links
	if err != nil {
		return nil, err
	}
	seconds := strconv.Itoa(max(1, int(w.For/time.Second)))
	sh, err := r.start(strings.NewReplacer("ARGS", listenArgs(w), "SIZE", strconv.Itoa(frameSize), "COUNT", strconv.Itoa(maxFrames),
		"FILTER", shellQuote(tcpdumpFilter(w.Words)), "SECONDS", seconds).Replace(listenScript))
	if err != nil {
		return nil, r.fail(err)
	}
	_ = sh.out.SetReadDeadline(time.Now().Add(r.Timeout))
	out := bufio.NewReader(sh.out)
	begin, err := out.Peek(4)
	if err != nil {
		err := sh.why(err)
		sh.end()
		return nil, r.fail(fmt.Errorf("listen: %w", err))
	}
	_ = sh.out.SetReadDeadline(time.Now().Add(w.For + r.Timeout))
	l := &Listening{}
	read := readFrames
	if begin[0] == '{' {
		l.Unread, err = readUnread(out)
	} else {
		read, err = pcapFrames(out, network)
		l.Unread, l.Undelivered = map[string]string{}, "ovnctl is not installed on "+r.Name()
		for _, pod := range w.Pods {
			l.Unread[pod] = l.Undelivered
		}
	}
	if err != nil {
		sh.end()
		return nil, r.fail(fmt.Errorf("listen: %w", err))
	}
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		failed = read(out, see)
	}()
	l.stop = sync.OnceValue(func() error {
		_ = sh.in.Close() // it ends
		_ = sh.out.SetReadDeadline(time.Now().Add(r.Timeout))
		<-done
		sh.end()
		if failed != nil {
			return r.fail(fmt.Errorf("listen: %w", failed))
		}
		return nil
	})
	return l, nil
}

// start starts a shell with a script that may go on reading standard input.
func (r *remote) start(script string) (*shell, error) {
	sh, err := startShell(r.Enter, nil)
	if err != nil {
		return nil, err
	}
	_ = sh.in.SetWriteDeadline(time.Now().Add(r.Timeout))
	if _, err := sh.in.WriteString(script); err != nil {
		err := sh.why(err)
		sh.end()
		return nil, err
	}
	return sh, nil
}

// why is what a shell that ended wrote to standard error, else the given error.
func (sh *shell) why(err error) error {
	select {
	case <-sh.exited():
		if text := strings.TrimSpace(string(sh.said.kept)); text != "" {
			return errors.New(text)
		}
	case <-time.After(time.Second):
	}
	return err
}

func listenArgs(w Watch) string {
	args := "--for " + w.For.String()
	for _, word := range w.Words {
		args += fmt.Sprintf(" --word %08x/%08x", word.Value, word.Mask)
	}
	for _, protocol := range w.Protocols {
		args += " --protocol " + strconv.Itoa(protocol)
	}
	for _, pod := range w.Pods {
		args += " --pod " + shellQuote(pod)
	}
	return args
}

// tcpdumpFilter is what markFilter is, in the language of pcap-filter(7).
func tcpdumpFilter(words []Word) string {
	var terms []string
	for at := 8; at < markEnd; at += 2 {
		for _, w := range words {
			for _, protocol := range []string{"ip", "ip6"} {
				terms = append(terms, fmt.Sprintf("%s[%d:4]&%#x=%#x", protocol, at, w.Mask, w.Value&w.Mask))
			}
		}
	}
	return strings.Join(terms, " or ")
}

// A Heard is the first line that ovnctl probe listen prints, once it listens; a Frame a line follows.
type Heard struct {
	Unread map[string]string `json:"unread"`
}

// maxLine bounds a line of ovnctl probe listen.
const maxLine = 64 << 10

func readUnread(out *bufio.Reader) (map[string]string, error) {
	var h Heard
	line, err := readLine(out)
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	return h.Unread, err
}

func readLine(out *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < maxLine {
		chunk, err := out.ReadSlice('\n')
		line = append(line, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, errors.New("a line is too long")
}

// readFrames reads what ovnctl probe listen prints.
func readFrames(out *bufio.Reader, see func(Frame)) error {
	for range maxFrames {
		line, err := readLine(out)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var f Frame
		if err == nil {
			err = json.Unmarshal(line, &f)
		}
		if err != nil {
			return err
		}
		see(f)
	}
	return errors.New("too many packets")
}

// The header of a record in LINUX_SLL2 captures.
const sll2 = 20

// pcapFrames reads the header of what tcpdump writes.
func pcapFrames(out *bufio.Reader, n *Network) (func(*bufio.Reader, func(Frame)) error, error) {
	head := make([]byte, 24)
	if _, err := io.ReadFull(out, head); err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(head) != 0xa1b2c3d4 {
		order = binary.BigEndian
	}
	if order.Uint32(head) != 0xa1b2c3d4 || order.Uint32(head[20:]) != 276 {
		return nil, errors.New("tcpdump wrote something other than a capture of all links")
	}
	names := map[uint32]string{}
	for _, l := range n.Links {
		names[uint32(l.Index)] = l.Name
	}
	return func(out *bufio.Reader, see func(Frame)) error { return readPcap(out, order, names, see) }, nil
}

func readPcap(out io.Reader, order binary.ByteOrder, names map[uint32]string, see func(Frame)) error {
	for range maxFrames {
		var head [16]byte
		if _, err := io.ReadFull(out, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		size := order.Uint32(head[8:])
		if size < sll2 || size > frameSize+sll2 {
			return fmt.Errorf("tcpdump wrote a packet of %d bytes", size)
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(out, b); err != nil {
			return err
		}
		const outgoing = 4
		see(Frame{Link: names[binary.BigEndian.Uint32(b[4:])], Out: b[10] == outgoing, Protocol: binary.BigEndian.Uint16(b), Data: b[sll2:]})
	}
	return errors.New("too many packets")
}

func (r *remote) PacketOut(ctx context.Context, bridge string, frames []Outgoing) error {
	if err := checkDump(bridge, Flows); err != nil {
		return err
	}
	var script strings.Builder
	script.WriteString("out() {\n")
	for _, f := range frames {
		fmt.Fprintf(&script, "$T ${S}ovs-ofctl -O %s packet-out \"unix:$ovs/\"%s %s || return\n", ofctlVersions, shellQuote(bridge+".mgmt"), shellQuote(f.packetOut()))
	}
	script.WriteString("}\npart out out\n")
	parts, err := r.shells.run(ctx, script.String(), r.Timeout, r.Timeout+time.Duration(len(frames))*100*time.Millisecond)
	p, ok := parts["out"]
	if ok {
		err = r.explain(p, "ovs-ofctl")
	}
	if err != nil {
		return r.fail(fmt.Errorf("bridge %s: %w", bridge, err))
	}
	return nil
}

// notSent is the exit code of ovnctl probe send for an ErrNotSent.
const notSent = 1

func (r *remote) Send(ctx context.Context, s Sending) error {
	args := "--interval " + s.Interval.String()
	if s.Pod != "" {
		args += " --pod " + shellQuote(s.Pod)
	}
	for _, p := range s.Packets {
		args += fmt.Sprintf(" %x", p)
	}
	parts, err := r.shells.run(ctx, `
send() { command -v ovnctl >/dev/null 2>&1 || absent 'ovnctl is not installed there'; ovnctl probe send `+args+`; }
part send send
`, r.Timeout, r.Timeout+time.Duration(len(s.Packets))*s.Interval)
	if err != nil {
		return r.fail(err)
	}
	switch p := parts["send"]; p.code {
	case 0:
		return nil
	case notSent:
		return r.fail(fmt.Errorf("%w: %s", ErrNotSent, strings.TrimPrefix(strings.TrimSpace(p.err), ErrNotSent.Error()+": ")))
	default:
		return r.fail(errors.New(strings.TrimSpace(p.err)))
	}
}

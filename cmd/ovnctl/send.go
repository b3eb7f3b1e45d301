package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// ethernetHeader is what the length of a frame has more than that of its packet.
const ethernetHeader = 14

// sendOptions are the flags of trace --send.
type sendOptions struct {
	on    bool
	count int
	size  size
	yes   bool
}

func (s *sendOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.on, "send", false, "send the packet for real, and watch where it and its reply are seen")
	f.IntVar(&s.count, "count", 1, "with --send: how many `packets`, ten a second")
	f.Var(&s.size, "size", "with --send: the size of the packet in `bytes`, IP header included; it is not fragmented. auto finds the largest that comes through")
	f.BoolVarP(&s.yes, "yes", "y", false, "with --send: do not ask before sending to an address outside")
	for _, other := range []string{"logical", "observe", "against", "dns"} {
		cmd.MarkFlagsMutuallyExclusive("send", other)
	}
	cmd.MarkFlagsMutuallyExclusive("size", "length")
}

func (s *sendOptions) check(o *options) error {
	switch {
	case !s.on && (s.count != 1 || s.size != size{}):
		return errors.New("--count and --size are about packets that --send sends")
	case !s.on:
		return nil
	case o.offline != "":
		return errors.New("--send needs running nodes and --offline reads a capture: give one of the two")
	case s.count < 1 || s.count > probe.MaxCount:
		return fmt.Errorf("--count %d: expected 1 to %d", s.count, probe.MaxCount)
	case s.size.auto && s.count != 1:
		return errors.New("--size auto sends as many packets as it needs: leave --count out")
	}
	return nil
}

// size is a flag that takes the size of a packet, or auto.
type size struct {
	bytes int
	auto  bool
}

func (s *size) Type() string { return "bytes" }

func (s *size) String() string {
	switch {
	case s.auto:
		return "auto"
	case s.bytes == 0:
		return ""
	}
	return strconv.Itoa(s.bytes)
}

func (s *size) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "auto":
		*s = size{auto: true}
	case err != nil || n < 40 || n > 9000:
		return errors.New("expected 40 to 9000, or auto")
	default:
		*s = size{bytes: n}
	}
	return nil
}

// sendPacket sends a trace's packet, after asking where that is due.
func (o *traceOptions) sendPacket(ctx context.Context, c *cluster.Cluster, g *topology.Graph, t *journey.Trace) (*journey.Sent, error) {
	if err := probe.Check(g, t.Request); err != nil {
		return nil, usageError{err}
	}
	if probe.Outside(t.Request) && !o.send.yes {
		if !o.asks() || o.machine() {
			return nil, usageError{fmt.Errorf("%s is outside the deployment, and nobody can be asked\nhint: use --yes to send to it", t.Request.To.Address)}
		}
		asking := &operator{options: o.options, answers: bufio.NewReader(o.stdin)}
		yes, err := asking.Ask(ctx, "send to "+t.Request.To.Address+", which is outside the deployment?", false)
		if err != nil {
			return nil, err
		}
		if !yes {
			return nil, usageError{errors.New("nothing was sent")}
		}
	}
	p := o.progress(0)
	p.show("sending, and watching the nodes on the path")
	defer p.clear()
	sent, err := probe.Run(ctx, c, t, probe.Query{Count: o.send.count, Size: o.send.size.bytes, PathMTU: o.send.size.auto, DSCP: o.dscp})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, usageError{err}
	}
	return sent, nil
}

// sentVerdict returns the exit code for what became of packets that were sent.
func sentVerdict(r journey.SentResult) error {
	switch r {
	case journey.Answered:
		return nil
	case journey.Unsent:
		return verdict(exitUnknown)
	}
	return verdict(exitFound)
}

// newProbe is the half of trace --send that runs on other nodes; not for people.
func newProbe(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "probe", Hidden: true, Args: cobra.NoArgs}
	var words []string
	w := node.Watch{}
	listen := &cobra.Command{
		Use: "listen", Short: "Print marked packets until standard input ends", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range words {
				word, err := parseWord(text)
				if err != nil {
					return usageError{err}
				}
				w.Words = append(w.Words, word)
			}
			return o.probeListen(cmd.Context(), w)
		},
	}
	listen.Flags().StringSliceVar(&words, "word", nil, "`VALUE/MASK` of four bytes in the packet")
	listen.Flags().StringArrayVar(&w.Pods, "pod", nil, "also watch the other end of this `link`")
	listen.Flags().IntSliceVar(&w.Protocols, "protocol", nil, "also watch what kernels deliver of this IP protocol, a `number`")
	listen.Flags().DurationVar(&w.For, "for", time.Minute, "the longest `time`")
	var s node.Sending
	send := &cobra.Command{
		Use: "send PACKET...", Short: "Send IP packets, in hexadecimal", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, text := range args {
				packet, err := hex.DecodeString(text)
				if err != nil {
					return usageError{err}
				}
				s.Packets = append(s.Packets, packet)
			}
			return o.probeSend(cmd.Context(), s)
		},
	}
	send.Flags().StringVar(&s.Pod, "pod", "", "send from the other end of this `link`")
	send.Flags().DurationVar(&s.Interval, "interval", 100*time.Millisecond, "between packets, a `time`")
	cmd.AddCommand(listen, send)
	return cmd
}

func parseWord(text string) (node.Word, error) {
	value, mask, _ := strings.Cut(text, "/")
	v, err := strconv.ParseUint(value, 16, 32)
	m, err2 := strconv.ParseUint(mask, 16, 32)
	return node.Word{Value: uint32(v), Mask: uint32(m)}, errors.Join(err, err2)
}

// prober returns the host that ovnctl runs on.
func (o *options) prober() (node.Prober, error) {
	host := node.Local(node.LocalConfig{HostRoot: o.hostRoot, OVSRunDir: os.Getenv("OVS_RUNDIR"), OVNRunDir: os.Getenv("OVN_RUNDIR")})
	p, ok := host.(node.Prober)
	if !ok {
		return nil, errors.New("packets are seen on Linux only")
	}
	return p, nil
}

func (o *options) probeListen(ctx context.Context, w node.Watch) error {
	if len(w.Words) == 0 {
		return usageError{errors.New("no --word to listen for")}
	}
	p, err := o.prober()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(o.stdout)
	mu.Lock()
	l, err := p.Listen(ctx, w, func(f node.Frame) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(f) // a reader that is gone ends standard input, too
	})
	if err == nil {
		err = out.Encode(node.Heard{Unread: l.Unread})
	}
	mu.Unlock()
	if err != nil {
		return unknownError{err}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, o.stdin)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-time.After(w.For):
	}
	return l.Stop()
}

func (o *options) probeSend(ctx context.Context, s node.Sending) error {
	p, err := o.prober()
	if err == nil {
		err = p.Send(ctx, s)
	}
	if errors.Is(err, node.ErrNotSent) {
		fmt.Fprintln(o.stderr, err)
		return verdict(exitFound)
	}
	if err != nil {
		return unknownError{err}
	}
	return nil
}

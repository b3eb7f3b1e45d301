//go:build lab

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestSendBeneath breaks what OVN rests on, as TestTraceBeneath does, and sends packets: the result must be what becomes of
// the lab's own, whatever the trace says, and the exit code that of the result. Each run makes a sixteenth of the faults,
// chosen by OVNCTL_TURN; OVNCTL_FAULTS=all makes all.
func TestSendBeneath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putInPath(t, asOvnctl+"=1 exec "+self+` "$@"`)
	eachFault(t, 16, allBeneath, func(t *testing.T, l *lab.Lab, f fault) {
		f.during(t, l, func(ctx context.Context, d *traceDraw) {
			for _, a := range f.asks {
				if a.where != "vip" && !a.rare { // of which one packet says nothing about the next
					a.send(ctx, t, d)
				}
			}
		})
	})
}

// send compares what became of ovnctl's packets with the lab's own, once more where they differ: neighbours are learned
// between the two, and a busy machine loses packets.
func (a faultAsk) send(ctx context.Context, t *testing.T, d *traceDraw) {
	t.Helper()
	var err error
	for range 2 {
		if err = a.sent(ctx, t, d); err == nil {
			return
		}
		t.Logf("asked once more, since\n%v", err)
	}
	t.Error(err)
}

func (a faultAsk) sent(ctx context.Context, t *testing.T, d *traceDraw) error {
	args := append(d.arguments(a.tracePair), "--send", "--yes", "--nb", d.lab.NB(), "--node-exec", d.lab.Dir+"/enter {hostname}")
	if i := slices.Index(a.args, "--sb"); i >= 0 { // by a way that the fault does not cut
		args = append(args, a.args[i:i+2]...)
	}
	if a.length != 0 {
		args = append(args, fmt.Sprintf("--size=%d", a.length-ethernetHeader))
	}
	got := d.ovnctl(ctx, a.at, append(args, "-o", "json")...)
	sent := got.trace().Sent
	if sent == nil {
		return fmt.Errorf("%s: nothing sent: %s", strings.Join(args, " "), got.stderr)
	}
	through, err := a.comesThrough(ctx, d)
	if err != nil {
		return err
	}
	codes := map[journey.SentResult]int{journey.Answered: exitOK, journey.Unsent: exitUnknown}
	want, ok := codes[sent.Result]
	if !ok {
		want = exitFound
	}
	said := fmt.Sprintf("%s: %s, %s", strings.Join(args, " "), sent.Result, sent.Sentence)
	switch {
	case sent.Result == journey.Unsent:
		return errors.New(said)
	case a.past && through && sent.Result == journey.Lost: // on a datapath in userspace alone: the kernel's sees frames first
	case through != (sent.Result == journey.Answered):
		return fmt.Errorf("%s; the lab's own packet comes through: %v", said, through)
	case got.code != want:
		return fmt.Errorf("%s: exit code %d, want %d", said, got.code, want)
	}
	t.Logf("%s (verdict %s)", said, got.trace().Verdict.Outcome)
	return nil
}

// comesThrough reports whether the lab's own packet reaches its destination and a reply comes back.
func (a faultAsk) comesThrough(ctx context.Context, d *traceDraw) (bool, error) {
	if a.length != 0 {
		truth, err := a.truth(ctx, d)
		return truth == journey.Delivered, err
	}
	proto := a.proto
	if a.tracePair.v6 {
		proto += "6"
	}
	truth, err := d.lab.Probe(ctx, a.from, a.to, proto, a.port)
	return truth.Forward && (truth.RoundTrip || truth.Rejected), err
}

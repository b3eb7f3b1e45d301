package fixes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Offload disables offloads of a link, until the host boots or the link is recreated. Undo enables them.
type Offload struct {
	Link     string
	Index    int      // Link's, which must still match
	Features []string // by the kernel's names, "tx-checksum-ip-generic"; all were on
	Classic  string   // "ethtool -K LINK tx off"
}

// Summary shows each feature before and after.
func (s Offload) Summary() StepSummary {
	out := StepSummary{
		What: "switch off " + strings.Join(s.Features, ", ") + " of " + s.Link, Commands: []string{s.Classic}, on: []string{"offload " + s.Link},
	}
	for _, f := range s.Features {
		out.Diff = append(out.Diff, "- "+s.Link+" "+f+": on", "+ "+s.Link+" "+f+": off")
	}
	return out
}

func (s Offload) look(ctx context.Context, t *Target) (stage, string, error) {
	n, err := t.network(ctx)
	if err != nil {
		return moved, "", err
	}
	if l := n.Link(s.Link); l == nil || l.Index != s.Index {
		return moved, "link " + s.Link + " is gone, or another one has its name", nil
	}
	features, err := t.Host.Node().Features(ctx, s.Link)
	if errors.Is(err, fs.ErrNotExist) {
		return moved, "link " + s.Link + " is gone", nil
	}
	if err != nil {
		return moved, "", err
	}
	var on []string
	for _, f := range s.Features {
		if features[f] {
			on = append(on, f)
		}
	}
	switch len(on) {
	case 0:
		return done, "", nil
	case len(s.Features):
		return untouched, "", nil
	}
	return halfDone, fmt.Sprintf("of %s only %s is on", s.Link, strings.Join(on, ", ")), nil
}

func (s Offload) do(context.Context, *Target) error   { return s.set(false) }
func (s Offload) undo(context.Context, *Target) error { return s.set(true) }

func (s Offload) set(on bool) error {
	features := map[string]bool{}
	for _, f := range s.Features {
		features[f] = on
	}
	return node.SetFeatures(s.Link, features)
}

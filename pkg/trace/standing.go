package trace

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
)

// A Standing remembers, from one answer to the next, what disagreed: a question that is asked again and again need not wait each time
// to see what lasts. It is for one question, and one answer at a time.
type Standing struct {
	since  map[string]time.Time // of suspicions
	behind map[string]stood
}

// stood is a configuration that some daemon had not processed, since when.
type stood struct {
	configuration
	since time.Time
}

// lasting returns the suspicions that have been there for some time.
func (s *Standing) lasting(found []suspicion) []suspicion {
	now, still := time.Now(), map[string]time.Time{}
	var old []suspicion
	for _, f := range found {
		key := fmt.Sprint(f.Kind, f.Node, f.Datapath, f.Stage, f.rows, f.alien)
		since, ok := s.since[key]
		if !ok {
			since = now
		}
		still[key] = since
		if now.Sub(since) >= settling {
			old = append(old, f)
		}
	}
	s.since = still
	return old
}

// lags returns a zone's configuration as it was some time ago, if a daemon was behind then, and as it is now.
func (t *tracer) lags(ctx context.Context, z *cluster.Zone) (then, now configuration, ok bool) {
	first, ok := t.configurationOf(ctx, z)
	s := t.standing
	switch {
	case !ok || !first.behind():
		if s != nil {
			delete(s.behind, z.Name)
		}
		return then, now, false
	case s == nil:
		select {
		case <-ctx.Done():
			return then, now, false
		case <-time.After(lagging):
		}
		now, ok = t.configurationOf(ctx, z)
		return first, now, ok
	}
	earlier, known := s.behind[z.Name]
	if !known || !reflect.DeepEqual(earlier.configuration, first) {
		if s.behind == nil {
			s.behind = map[string]stood{}
		}
		s.behind[z.Name] = stood{first, time.Now()}
		return then, now, false
	}
	return earlier.configuration, first, time.Since(earlier.since) >= lagging
}

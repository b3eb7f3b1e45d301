package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/vitals"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

// A Look is one examination of a deployment.
type Look struct {
	Began  time.Time
	Took   time.Duration
	Report doctor.Report
	Faults []doctor.Finding // that have not cleared: of the report, and of what could not be looked at this time
	Vitals vitals.Vitals
	Mesh   *probe.Mesh // nil if no packets were sent
	// Unread and Missing are nodes and databases that the sample does not have, as they could not be reached.
	Unread  []string
	Missing []vitals.Database
}

// A Store holds what the last look saw. It is safe for concurrent use.
type Store struct {
	registry    *prometheus.Registry
	convergence *prometheus.HistogramVec
	patience    time.Duration // a look that is older is too old

	mu       sync.Mutex
	last     Look
	looks    int
	failures int
	clean    map[doctor.Result]time.Time   // when there was nothing as bad as this
	read     map[string]time.Time          // when a node was last read, by name
	rows     map[vitals.Database]time.Time // when a database was
	restless map[portName]bool
	seen     []prometheus.Metric // of the last look
}

// A portName is a port of a zone.
type portName struct{ zone, port string }

// New returns a Store without a look. After patience without another one it is not ready any more.
func New(version string, patience time.Duration) *Store {
	s := &Store{
		registry: prometheus.NewRegistry(), patience: patience,
		convergence: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ovnctl_convergence_seconds",
			Help:    "Time from a change of nb_cfg in the Northbound until ovn-northd (northd), each chassis (chassis) and all of them (all) had carried it out.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"stage"}),
		clean: map[doctor.Result]time.Time{}, read: map[string]time.Time{}, rows: map[vitals.Database]time.Time{}, restless: map[portName]bool{},
	}
	for _, stage := range []string{"northd", "chassis", "all"} {
		s.convergence.WithLabelValues(stage)
	}
	s.registry.MustRegister(s, s.convergence, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ovnctl_build_info", Help: "The version of ovnctl.", ConstLabels: prometheus.Labels{"version": version}}, func() float64 { return 1 }))
	return s
}

// Event takes note of an event.
func (s *Store) Event(e watch.Event) {
	if c := e.Convergence; c != nil {
		s.convergence.WithLabelValues("northd").Observe(c.Northd.Seconds())
		s.convergence.WithLabelValues("all").Observe(c.All.Seconds())
		for _, took := range c.Chassis {
			s.convergence.WithLabelValues("chassis").Observe(took.Seconds())
		}
	}
	if e.Kind != watch.Port && e.Kind != watch.Gateway {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch port := (portName{e.Zone, e.Object}); e.Action {
	case "flapping":
		s.restless[port] = true
	case "settled", "removed":
		delete(s.restless, port)
	}
}

// Failed takes note of a look that ended with an error: what the last one saw remains.
func (s *Store) Failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
}

// Saw takes note of a look.
func (s *Store) Saw(l Look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = l
	s.looks++
	for _, severity := range []doctor.Result{doctor.Error, doctor.Warning} {
		if s.clean[severity].IsZero() || !slices.ContainsFunc(l.Faults, func(f doctor.Finding) bool { return f.Result.AtLeast(severity) }) {
			s.clean[severity] = l.Began // the first look: as long as ovnctl knows
		}
	}
	s.read = lastRead(s.read, l.Began, l.Vitals.Nodes, slices.Concat(l.Vitals.Unread, l.Unread))
	s.rows = lastRead(s.rows, l.Began, l.Vitals.Databases, slices.Concat(l.Vitals.Missing, l.Missing))
	s.seen = s.metrics()
}

// lastRead returns when each was last read, the zero time for never. What is neither read nor missing has gone.
func lastRead[K comparable](before map[K]time.Time, now time.Time, read, missing []K) map[K]time.Time {
	last := map[K]time.Time{}
	for _, k := range missing {
		last[k] = before[k]
	}
	for _, k := range read {
		last[k] = now
	}
	return last
}

// Describe is that of a collector whose metrics depend on what is found.
func (s *Store) Describe(chan<- *prometheus.Desc) {}

// Collect sends what the last look saw.
func (s *Store) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	seen := slices.Concat(s.seen, s.running())
	s.mu.Unlock()
	for _, m := range seen {
		to <- m
	}
}

// Handler serves /metrics, and /healthz and /readyz for who starts and stops the program.
func (s *Store) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8, Timeout: 20 * time.Second, EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := s.unready(time.Now()); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// unready returns why the metrics are not to be relied on; empty if they are.
func (s *Store) unready(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.looks == 0 && s.failures > 0:
		return "the deployment could not be read yet"
	case s.looks == 0:
		return "the first look is not over"
	case now.Sub(s.last.Began.Add(s.last.Took)) > s.patience:
		return fmt.Sprintf("the last look ended %s ago", now.Sub(s.last.Began.Add(s.last.Took)).Round(time.Second))
	}
	return ""
}

//go:build metrics

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/metrics"
	"github.com/ovnctl/ovnctl/pkg/vitals"
)

// export begins to serve metrics. The returned function ends that, and adds why it ended before.
func (o *doctorOptions) export(ctx context.Context) (exporter, func(*error), error) {
	if err := web.Validate(o.webConfig); err != nil {
		return nil, nil, usageError{fmt.Errorf("--web.config.file %s: %w", o.webConfig, err)}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", string(o.serve))
	if err != nil {
		return nil, nil, unknownError{err}
	}
	store := metrics.New(version, o.readyFor())
	log := slog.NewTextHandler(o.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	server := &http.Server{
		Handler: store.Handler(), MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log, slog.LevelWarn),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() {
		failed <- web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &o.webConfig}, slog.New(log))
	}()
	fmt.Fprintf(o.stderr, "ovnctl: serving metrics at %s\n", listener.Addr())
	return served{store}, func(result *error) {
		_ = server.Close()
		if err := <-failed; err != nil && !errors.Is(err, http.ErrServerClosed) && *result == nil {
			*result = unknownError{err}
		}
	}, nil
}

// served is where metrics are kept for who asks.
type served struct{ *metrics.Store }

func (s served) saw(e *examination, began time.Time, report doctor.Report, standing []doctor.Finding) {
	l := metrics.Look{Began: began, Took: time.Since(began), Report: report, Faults: standing, Vitals: vitals.Read(e.looked), Mesh: e.mesh, Unread: e.unread()}
	for _, p := range e.c.Problems {
		missing := func(d vitals.Database) bool { return d.Name == p.What } // of a zone that is known
		if p.Node == "" && !slices.ContainsFunc(l.Vitals.Missing, missing) && (p.What == "OVN_Northbound" || p.What == "OVN_Southbound") {
			l.Missing = append(l.Missing, vitals.Database{Name: p.What})
		}
	}
	s.Saw(l)
}

// readyFor is how old a look may be until metrics are not to be relied on.
func (o *doctorOptions) readyFor() time.Duration { return 3*time.Duration(o.watch) + time.Minute }

// Package metrics shows what doctor last saw to Prometheus.
//
// A [Store] is told of each look at a deployment and of each event. A scrape copies what it holds: it reads nothing else and
// starts no work. Names of others become values of labels as pkg/escape shows them, and every metric has a most number of series;
// what is left out is counted in ovnctl_series_left_out.
package metrics

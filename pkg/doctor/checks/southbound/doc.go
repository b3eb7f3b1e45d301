// Package southbound checks the Southbound and the servers of OVN's databases: reachability, TLS, clusters, and stale
// rows.
package southbound

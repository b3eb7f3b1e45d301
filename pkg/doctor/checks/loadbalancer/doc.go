// Package loadbalancer checks load balancers: where they are attached, their health checks and the conntrack entries of their backends.
package loadbalancer

// Package gateway checks how traffic leaves OVN: gateway routers, distributed gateway ports, provider networks and transit switches.
package gateway

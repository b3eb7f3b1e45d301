// Package host checks the host under Open vSwitch: addresses, routes, sysctls, packet filter, conntrack, kernel modules and boot files.
package host

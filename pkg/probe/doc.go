// Package probe sends a real, marked packet along a trace and watches where it, and its reply, are seen. It leaves
// nothing behind but what any packet does: the entries of one connection in conntrack, and learned MAC addresses.
package probe

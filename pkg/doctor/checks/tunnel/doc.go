// Package tunnel checks the tunnels between chassis: encaps, MTU, BFD and IPsec.
package tunnel

// Package northbound checks the Northbound: what it configures, and whether ovn-northd carries it out.
package northbound

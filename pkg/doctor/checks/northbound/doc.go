// Package northbound checks the Northbound: its configuration, and whether ovn-northd carries it out.
package northbound

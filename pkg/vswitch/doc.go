// Package vswitch has the rows of Open_vSwitch: the bridges, ports and interfaces of one node.
//
// A table's file is named after it, or else is that of the table that refers to it (tables.go lists all). It
// holds the struct with the columns of ovs-vswitchd.conf.db(5), and its projections: rows with fewer columns
// for one purpose. Columns that the server lacks stay empty. A comment after a reference names the table that
// it refers to.
package vswitch

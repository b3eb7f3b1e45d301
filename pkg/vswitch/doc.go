// Package vswitch has the rows of Open_vSwitch: the bridges, ports and interfaces of one node.
//
// Each table is a file of its own: the struct with the columns of ovs-vswitchd.conf.db(5), and
// beside it its projections, rows with fewer columns for one question. Columns that the server at hand lacks stay empty. A
// comment after a reference names the table that it refers to.
package vswitch

// Package vswitch holds the rows of Open_vSwitch that ovnctl reads: the bridges
// and ports of one node. The fields are the columns of ovs-vswitchd.conf.db(5);
// those that the server at hand lacks stay empty. A comment after a reference
// names the table that it refers to.
package vswitch

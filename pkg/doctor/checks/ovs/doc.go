// Package ovs checks Open vSwitch on a node: its daemons, conf.db, bridges, interfaces, datapaths and OpenFlow flows.
package ovs

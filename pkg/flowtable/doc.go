// Package flowtable lists the flows of a bridge: what each was made for, how many packets it counted and whether it
// drops them. It filters flows by names of OVN and the CMS, and compares two dumps for rates. A [Megaflow] is an entry
// of the datapath's cache of their results.
package flowtable

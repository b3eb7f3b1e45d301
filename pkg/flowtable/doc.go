// Package flowtable lists the flows of a bridge: what each was made for, how many packets it had and whether it drops
// them. It filters flows in words of OVN and of the CMS and compares two dumps for rates. A [Megaflow] is an entry of
// the datapath's cache of their results.
package flowtable

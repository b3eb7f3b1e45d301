// Package flowtable answers what the flow tables of a bridge do: which flows there
// are, what each was made for, how many packets they had and which of them drop.
// It reads dumps, filters them in words of OVN and of the CMS, and compares two
// dumps for rates. [Megaflows] are the datapath's cache of their results.
package flowtable

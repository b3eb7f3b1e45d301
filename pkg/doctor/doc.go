// Package doctor finds faults in a deployment and explains each: what is seen, why, what it breaks and what repairs it.
//
// A [Check] looks for one fault. It reads from one snapshot, changes nothing and depends on no other check's run; all
// run side by side. What it finds are [Finding] values, identified by check, object and reason ([Finding.ID]); texts
// are for people and decide nothing. [Examine] runs the checks and gathers a [Report], in which a finding that another
// one explains is a consequence under it: [Check.Causes] is the only place where that is declared.
//
// A check reads what it needs through the iterators of its [Pass] ([Pass.Nodes], [Pass.Chassis], [Pass.Northbounds],
// [Pass.Southbounds], [Pass.SilentDaemons], [Samples]) and through [Need]. They report as unknown what cannot be read.
// The checks themselves are in the packages under doctor/checks, one file each.
package doctor

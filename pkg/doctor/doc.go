// Package doctor finds faults in a deployment and explains each: what is seen, why, what it breaks and what repairs it.
//
// A [Check] looks for one fault. It reads one snapshot, changes nothing and does not depend on other checks; all run
// concurrently. It reports [Finding] values, identified by check, object and reason ([Finding.ID]); texts are for
// people only. [Examine] runs the checks and gathers a [Report], in which a finding explained by another is nested
// under it as a consequence: [Check.Causes] and [Check.CausesOn] are the only places that declare this.
//
// A check reads through the iterators of its [Pass] ([Pass.Nodes], [Pass.Chassis], [Pass.Northbounds],
// [Pass.Southbounds], [Pass.SilentDaemons], [Samples]) and through [Need]. They report as unknown what cannot be read.
// The checks themselves are in the packages under doctor/checks, one file each.
package doctor

// Package doctor finds what is broken, and says why and what mends it.
//
// A [Check] looks for one fault of the catalogue. It reads from the evidence of
// one look, changes nothing and depends on no other check's run; all run side by
// side. What it finds are [Finding] values; [Examine] gathers them into a Report, in which
// a finding that another one explains is a consequence under it: [Check.Causes]
// is the only place where that is declared.
package doctor

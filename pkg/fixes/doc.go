// Package fixes changes a host or a database: what a Plan says, and nothing else.
//
// A Repair makes a Plan from evidence. A Plan is a list of Steps, each of which
// says what it changes before it changes it: rows, files, addresses and routes,
// services, control commands.
//
// # Never worse
//
// Before each step it is looked at whether the world is still as it was planned
// from (the guard), and the step is written to the journal with what undoes it.
// After the last one the check that asked for the repair runs again; if it does
// not pass, all is undone. A run that dies leaves an armed journal: the next one
// finishes or reverts it.
//
// Steps that can cut the operator off run under a watchdog, which undoes them
// unless they are confirmed.
package fixes

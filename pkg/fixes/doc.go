// Package fixes repairs faults: it plans, asks, changes a host or a database, verifies, and undoes.
//
// A Repair makes a Plan from a snapshot. A Plan is a list of Steps: rows, files, addresses and routes, services,
// control commands. A Loop carries plans out for a person, one fault after another.
//
// # Never worse
//
// Before each step the guard compares the state with the one the plan was made from, and the step is written to the
// journal with its undo. After the last step the check that asked for the repair runs again; if it still finds the
// fault, all steps are rolled back. An interrupted run leaves an open journal: the next run finishes it or rolls it
// back.
//
// Steps that can cut the operator off run under a watchdog, which rolls them back unless they are confirmed.
package fixes

// Package snapshot is what checks and repairs look at: the rows of a
// deployment's databases and what its hosts say of themselves.
//
// # Read once, when asked
//
// Nothing is read before somebody asks, and everything at most once, however
// many ask and at whatever time: all see the same values. What is asked for side
// by side is read side by side. A Deployment is one look; for a second one,
// [Deployment.Later] waits and looks again.
//
// Rows of one [Core] are of one moment: they come in one transaction.
//
// # What could not be read
//
// Every question gives a value or an error that says why there is none, and what
// would settle it. An error is never an empty answer.
package snapshot

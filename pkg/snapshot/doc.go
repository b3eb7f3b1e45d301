// Package snapshot is the input of checks and repairs: the rows of a deployment's databases and what its hosts
// report.
//
// # Read once, on demand
//
// Nothing is read before it is needed, and everything at most once, whoever asks and whenever: all see the same
// values. Concurrent requests are read concurrently. A Deployment is one sample; [Deployment.Later] waits and takes a
// second one.
//
// The rows of one [Core] are consistent: they come from one transaction.
//
// # What could not be read
//
// Every method returns a value, or an error with the reason and what would fix it. An error is never an empty result.
package snapshot

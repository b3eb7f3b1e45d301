// Package watch says what is happening in a deployment: it turns changes of rows into events, in operators' words.
//
// It is a function of the changes and of time: a [Watcher] is told what changed and when, and returns what an operator wants to know.
// What several rows say together is one event: the rules of a NetworkPolicy, a port that leaves one chassis and
// appears on another. What only the passing of time says comes from [Watcher.Tick]: a chassis that does not catch up, a port
// that has come to rest.
//
// The rows that a database has at the start are no events.
package watch

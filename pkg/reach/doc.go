// Package reach shows who can talk to whom: it follows the first packet of a connection and its reply between every
// pair of a selection.
//
// # The question
//
// A [Plan] is a list of senders, a list of receivers and the traffic between them, or a list of expectations that each
// name pairs. [Plan.Run] follows all pairs, on all cores. A pair of something with itself is left out: such a packet
// does not reach the network. Of very many pairs it follows those of one sender for all of its [Classes].
//
// # The result
//
// There may be a million pairs and a handful of reasons. So a [Result] keeps each reason once, as a [Cause], and each
// pair refers to it. It can be shown in three forms: all pairs one by one, a [Matrix] in which those that behave alike
// share a row, and the refused pairs by the policy that refuses them.
package reach

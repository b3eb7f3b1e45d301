// Package ofctl reads flows as people write them for ovs-ofctl(8) add-flow, and refuses what ovs-ofctl refuses, in its words
// and with the place.
//
// Package openflow reads what a switch prints, and more: it lets pass whatever it can make sense of. Here every value must
// fit its field, the match must make sure that a packet has the fields that the actions touch, and actions and instructions
// must be in an order that OpenFlow has. [ParseFlow] checks that, then reads the flow by package openflow.
//
// Some of ovs-ofctl's habits are odd, and kept, because what it takes is what the switch gets: 300.1.1.1 is 44.1.1.1, a
// missing closing parenthesis is forgiven, and text behind some values is ignored.
package ofctl

// Package ovnexpr parses OVN's languages of matches and actions, columns of Logical_Flow (ovn-sb(5)), and evaluates
// matches for packets.
//
// # Two steps
//
// [ParseMatch] and [ParseActions] look at syntax only. They need no table of symbols, keep where in the text each leaf
// stands, and their trees print back to the text they came from, but for white space, comments and the spelling of
// numbers. A tree is therefore as good for showing a flow as for running it.
//
// [Match.Annotate] gives the names a meaning. It takes a table of [Symbols], which depends on the release that wrote the
// flow, and the address sets and port groups; it checks what the language allows on each kind of field, replaces
// predicates (tcp) by what they stand for (ip.proto == 6), and adds the prerequisites of fields (tcp.dst exists in TCP
// packets only). The result is a [Condition], which many packets can be tested against at the same time.
//
// # Kinds of fields
//
// A nominal field is a name for something (eth.type, inport): it can be tested for equality only, taking enclosing
// negations into account, and has no bits. An ordinal field is a number: all operators work, and so do its bits. A
// predicate is true or false. A string field holds the key of a logical port in a register; it is compared with the
// port's name.
//
// A set on the right of == means any of its members, on the right of != none of them. An address set without members is
// allowed: == is then false and != true.
//
// # Negation
//
// A negation reaches down to the comparisons and turns them round before prerequisites are added: !(tcp.dst == 80) is
// true of TCP packets to other ports and false of UDP. The expansion of a predicate is annotated first and negated as
// a whole: !ip.is_frag is true of ARP.
//
// # What decided
//
// [Condition.Evaluate] returns the comparisons that decided: of a conjunction that failed the operands
// that failed, of a disjunction that held those that held. Each says where in the text it stands and which test inside
// it (a prerequisite, a part of a predicate) was the cause. [Condition.Missing] returns those that would have to
// come out otherwise.
//
// # Many sets
//
// A Southbound has thousands of sets, of which a packet meets few. A match that was annotated with [Lazy] asks for a set
// when an evaluation comes to it, after all that costs less.
//
// # Microflows
//
// ovn-trace(8) takes one packet in the language of matches. [ParseMicroflow] reads it as ovn-trace does, with its idea of
// what is ambiguous or contradictory: both come from OVN's normal form, which is made for this purpose alone.
//
// # Releases
//
// The tables hold what OVN 20.12 to 26.03 know, each entry with the release it came in and, where its meaning changed
// or it went away, the release it ended with. The zero [Version] knows all of them in their newest meaning. What is
// still unknown, an action or a symbol of a later release, is an error that wraps [ErrNotUnderstood]: one flow cannot
// be judged, the others can.
//
// # What it ignores
//
// The package compiles nothing to OpenFlow: no conjunctive matches. It does not run actions. It does not check what only
// the place of a flow can tell (next beyond the last table), nor the values of DHCP and RA options.
package ovnexpr

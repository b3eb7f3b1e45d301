// Package ovnexpr parses OVN's match and action languages, columns of Logical_Flow (ovn-sb(5)), and evaluates matches
// for packets.
//
// # Two steps
//
// [ParseMatch] and [ParseActions] check only syntax. They need no symbol table and record where in the text each leaf
// is. Their trees print back to the original text, except for white space, comments and the spelling of numbers. So a
// tree is as good for showing a flow as for running it.
//
// [Match.Annotate] resolves the names. It takes a table of [Symbols], which depends on the release that wrote the flow,
// and the address sets and port groups; it checks what the language allows for each kind of field, expands predicates
// (tcp) into what they stand for (ip.proto == 6), and adds the prerequisites of fields (tcp.dst exists only in TCP
// packets). The result is a [Condition], which can be evaluated for many packets concurrently.
//
// # Kinds of fields
//
// A nominal field is a name for something (eth.type, inport): it can only be tested for equality, taking enclosing
// negations into account, and has no subfields. An ordinal field is a number: it allows all operators, and so do its
// bits. A predicate is true or false. A string field holds a logical port's key in a register; it is compared with the
// port's name.
//
// A set on the right of == means any of its members, on the right of != none of them. An empty address set is allowed:
// == is then false and != true.
//
// # Negation
//
// Negation is pushed down to the comparisons and inverts them before prerequisites are added: !(tcp.dst == 80) is true
// for TCP packets to other ports and false for UDP. The expansion of a predicate is annotated first and negated as a
// whole: !ip.is_frag is true for ARP.
//
// # What decided
//
// [Condition.Evaluate] returns the comparisons that decided: for a failed conjunction the operands that failed, for a
// disjunction that held those that held. Each has its place in the text and the test inside it (a prerequisite, a part
// of a predicate) that was the cause. [Condition.Missing] returns those that would have to change.
//
// # Many sets
//
// A Southbound has thousands of sets, of which a packet meets few. A match annotated with [Lazy] fetches a set when an
// evaluation reaches it, after everything cheaper.
//
// # Microflows
//
// ovn-trace(8) takes one packet in the match language. [ParseMicroflow] parses it as ovn-trace does, with the same
// notion of ambiguous and contradictory: both follow from OVN's normal form, which is built only for this purpose.
//
// # Releases
//
// The tables cover OVN 20.12 to 26.03; each entry has the release that added it and, if its meaning changed or it was
// removed, the release where it ended. The zero [Version] knows all of them in their newest meaning. Anything unknown,
// an action or a symbol of a later release, is an error that wraps [ErrNotUnderstood]: it affects one flow, not the
// others.
//
// # What it ignores
//
// The package compiles nothing to OpenFlow: package desired does, from [Match.Normalize]. It does not run actions. It
// does not check what depends on a flow's table (next beyond the last table), nor the values of DHCP and RA options.
package ovnexpr

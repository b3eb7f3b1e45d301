package ofctl

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// outputs checks the port of an output.
func outputs(port uint64) func(*state, arg) *Error {
	return func(_ *state, a arg) *Error {
		if port >= packet.PortMax && port < packet.PortInPort || port == packet.PortAny {
			return a.invalid(badOutPort, "nothing can be sent to port %s", packet.PortID{Number: uint32(port)})
		}
		return nil
	}
}

func (r *reader) output(a *action) *Error {
	if strings.Contains(a.value, "port") && strings.Contains(a.value, "max_len") {
		return r.truncated(a)
	}
	if port, ok := r.port(a.value); ok {
		a.name, a.text, a.check = "output", "output:"+r.portText(a.value, port), outputs(port)
		return nil
	}
	src, err := parsePart(a.value, a.valueAt)
	if err != nil {
		return a.bad("%s: output to unknown port", a.value)
	}
	a.text = "output:" + src.String()
	a.name, a.check = "output_reg", func(s *state, a arg) *Error { return s.source(src, a) }
	return nil
}

// truncated reads output(port=PORT,max_len=BYTES).
func (r *reader) truncated(a *action) *Error {
	a.name = "output_trunc"
	var port, most uint64
	var text string
	for _, w := range args(a.value, a.valueAt) {
		switch w.key {
		case "port":
			var ok bool
			text = w.value
			if port, ok = r.port(w.value); !ok {
				return w.bad("output to unknown truncate port: %s", w.value)
			}
			if port > packet.PortMax && port != packet.PortLocal && port != packet.PortInPort {
				return w.bad("output to unsupported truncate port: %s", w.value)
			}
		case "max_len":
			n, err := w.word()
			if err != nil {
				return err
			}
			if most = n; most < 14 {
				return w.bad("max_len %d is less than the minimum value 14", most)
			}
		default:
			return w.fault("invalid key '%s' in output_trunc argument", w.key)
		}
	}
	a.text = fmt.Sprintf("output(port=%s,max_len=%d)", r.portText(text, port), most)
	a.check = outputs(port)
	return nil
}

// reasons are why a packet may go to the controller.
var reasons = []string{"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"}

func (r *reader) controller(a *action) *Error {
	a.name = "controller"
	if a.value == "" {
		a.write("")
		return nil
	}
	if strings.Trim(a.value, "0123456789") == "" {
		n, err := a.small("max_len", 16)
		a.write(":%d", n)
		return err
	}
	for _, w := range args(a.value, a.valueAt) {
		var err *Error
		switch w.key {
		case "reason":
			n, number := decimal(w.value)
			if !slices.Contains(reasons, strings.ToLower(w.value)) && (!number || n > 255) {
				err = w.bad("unknown reason \"%s\"", w.value)
			}
		case "max_len", "id":
			_, err = w.small(w.key, 16)
		case "userdata":
			if _, ok := hexBytes(w.value); !ok {
				err = w.bad("bad hex digit in `controller' action `userdata'")
			}
		case "pause":
		case "meter_id":
			_, err = w.word()
		default:
			err = w.fault("unknown key \"%s\" parsing controller action", w.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) enqueue(a *action) *Error {
	start := strings.TrimLeft(a.value, ":q,")
	end := length(start, ":q,")
	if end == 0 || end+1 >= len(start) {
		return a.fault(`"enqueue" syntax is "enqueue:PORT:QUEUE" or "enqueue(PORT,QUEUE)"`)
	}
	port, ok := r.port(start[:end])
	if !ok {
		return a.bad("%s: enqueue to unknown port", start[:end])
	}
	a.check = func(_ *state, a arg) *Error {
		if port >= packet.PortMax && port != packet.PortInPort && port != packet.PortLocal {
			return a.invalid(badOutPort, "port %s has no queues", packet.PortID{Number: uint32(port)})
		}
		return nil
	}
	_, err := arg{key: a.key, value: start[end+1:], at: a.at, valueAt: a.valueAt + len(a.value) - len(start) + end + 1}.word()
	return err
}

func (r *reader) resubmit(a *action) *Error {
	words := append(strings.SplitN(a.value, ",", 4), "", "", "")
	var texts [3]string
	port, table := uint64(packet.PortInPort), uint64(anyTable)
	var ok bool
	if words[0] != "" {
		if port, ok = r.port(words[0]); !ok {
			return a.bad("%s: resubmit to unknown port", words[0])
		}
		texts[0] = r.portText(words[0], port)
	}
	if words[1] != "" {
		if table, ok = r.tableNumber(words[1]); !ok {
			return a.bad("%s: resubmit to unknown table", words[1])
		}
		texts[1] = r.tableText(words[1], table)
	}
	switch words[2] {
	case "":
	case "ct":
		texts[2] = ",ct"
		a.check = func(s *state, a arg) *Error {
			if !s.tracked() {
				return a.invalid(inconsistent, "the match does not say that the packet is tracked")
			}
			return nil
		}
	default:
		return a.bad("%s: unknown parameter", words[2])
	}
	if port == packet.PortInPort && table == anyTable {
		return a.fault(`at least one "in_port" or "table" must be specified on resubmit`)
	}
	if a.write("(%s,%s%s)", texts[0], texts[1], texts[2]); texts[1] == "" && texts[2] == "" {
		a.write(":%s", texts[0])
	}
	return nil
}

// hashed are the sets of fields that bundle and multipath hash.
var hashed = []string{"eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3"}

// oneOf reports whether a word is in a list, in whatever case.
func oneOf(word string, list ...string) bool { return slices.Contains(list, strings.ToLower(word)) }

func (r *reader) bundle(a *action) *Error {
	n := 4
	if strings.EqualFold(a.key, "bundle_load") {
		n = 5
	}
	rest := a.value
	var words []string
	for range n {
		rest = strings.TrimLeft(rest, ", ")
		end := length(rest, ", ")
		words, rest = append(words, rest[:end]), strings.TrimPrefix(strings.TrimPrefix(rest[end:], ","), " ")
	}
	rest = strings.TrimLeft(rest, ": ")
	end := length(rest, ": ")
	delimiter := rest[:end]
	if delimiter == "" {
		return a.bad("%s: not enough arguments to bundle action", a.value)
	}
	if !oneOf(delimiter, "members", "slaves") {
		return a.bad("%s: missing member delimiter, expected `members', got `%s'", a.value, delimiter)
	}
	members := strings.FieldsFunc(strings.TrimPrefix(rest[end:], ":"), func(c rune) bool { return strings.ContainsRune(", []", c) })
	var ports []uint64
	for _, member := range members {
		port, ok := r.port(member)
		if !ok {
			return a.bad("%s: bad port number", member)
		}
		ports = append(ports, port)
	}
	switch {
	case !oneOf(words[0], hashed...):
		return a.bad("%s: unknown fields `%s'", a.value, words[0])
	case !oneOf(words[2], "active_backup", "hrw"):
		return a.bad("%s: unknown algorithm `%s'", a.value, words[2])
	case !oneOf(words[3], "ofport"):
		return a.bad("%s: unknown member_type `%s'", a.value, words[3])
	}
	var dst *part
	if n == 5 {
		p, err := parsePart(words[4], a.valueAt+strings.Index(a.value, words[4]))
		if err != nil {
			return err
		}
		dst = &p
		a.write("(%s,%s,%s)", strings.Join(words[:4], ","), p, "members:"+strings.Join(members, ","))
	}
	a.check = func(s *state, a arg) *Error {
		if dst != nil {
			if err := s.destination(*dst, a); err != nil {
				return err
			}
		}
		for _, port := range ports {
			if port == packet.PortController {
				return a.invalid(badOutPort, "the controller cannot be a member")
			}
			if err := outputs(port)(s, a); err != nil && port != packet.PortAny {
				return err
			}
		}
		return nil
	}
	return nil
}

func (r *reader) multipath(a *action) *Error {
	words := a.tokens(", ")
	if len(words) < 6 {
		return a.bad("%s: not enough arguments to multipath action", a.value)
	}
	links := leading(words[3])
	switch {
	case !oneOf(words[0], hashed...):
		return a.bad("%s: unknown fields `%s'", a.value, words[0])
	case !oneOf(words[2], "modulo_n", "hash_threshold", "hrw", "iter_hash"):
		return a.bad("%s: unknown algorithm `%s'", a.value, words[2])
	case links < 1 || links > 65536:
		return a.bad("%s: n_links %d is not in valid range 1 to 65536", a.value, links)
	}
	dst, err := parsePart(words[5], a.valueAt+strings.Index(a.value, words[5]))
	if err != nil {
		return err
	}
	if dst.bits < bits.Len64(uint64(links-1)) {
		return a.bad("%s: %d-bit destination field has %d possible values, less than specified n_links %d", a.value, dst.bits, 1<<dst.bits, links)
	}
	for _, i := range []int{1, 3, 4} { // what is behind the number does not count
		words[i] = fmt.Sprint(leading(words[i]))
	}
	a.write("(%s,%s)", strings.Join(words[:5], ","), dst)
	a.check = func(s *state, a arg) *Error { return s.destination(dst, a) }
	return nil
}

func (r *reader) sample(a *action) *Error {
	var probability uint64
	for _, w := range args(a.value, a.valueAt) {
		var err *Error
		switch w.key {
		case "probability":
			if probability, err = w.small(w.key, 16); err == nil && probability == 0 {
				err = w.bad("invalid probability value \"%s\"", w.value)
			}
		case "collector_set_id":
			_, err = w.word()
		case "obs_domain_id", "obs_point_id":
			err = observed(w)
		case "sampling_port":
			if _, ok := r.port(w.value); !ok {
				err = w.bad("%s: unknown port", w.value)
			}
		case "ingress", "egress":
		default:
			err = w.fault("invalid key \"%s\" in \"sample\" argument", w.key)
		}
		if err != nil {
			return err
		}
	}
	if probability == 0 {
		return a.fault(`non-zero "probability" must be specified on sample`)
	}
	return nil
}

// observed reads a number of what is sampled, or since Open vSwitch 3.4 the field that has it.
func observed(w arg) *Error {
	_, err := w.word()
	if err == nil {
		return nil
	}
	p, noField := parsePart(w.value, w.valueAt)
	switch {
	case noField != nil:
		return err
	case p.bits > 32:
		return w.bad("size of %s field (%d) exceeds maximum (32)", w.key, p.bits)
	}
	return nil
}

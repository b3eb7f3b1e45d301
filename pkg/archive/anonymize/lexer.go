package anonymize

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A mode says which words are known in a place.
type mode int

const (
	names mode = iota // a name, or anything that might be one
	prose             // what daemons print, in the words of their languages
	language
)

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func joins(c byte) bool { return c == '.' || c == '_' || c == '-' || c == ':' }

var comment = pattern.New(`(comment\s+\\?")(?:[^"\\]|\\[^"])*(\\?")|(--comment\s+)[^\s"]+`)

// text appends a text to out, replaced.
func (r *Redactor) text(out, in []byte, m mode) []byte {
	if bytes.Contains(in, []byte("comment ")) {
		in = comment.Get().ReplaceAll(in, []byte("${1}${2}${3}"))
	}
	if bytes.Contains(in, []byte("00000000  ")) {
		in = dump.Get().ReplaceAll(in, []byte("${1}"+secret.Hidden))
	}
	for i := 0; i < len(in); {
		c := in[i]
		if c == '\\' || c == '%' {
			if other, n := r.escaped(in[i:]); n > 0 {
				out = append(out, other...)
				i += n
				continue
			}
		}
		switch {
		case c == '\\' && i+1 < len(in): // an escape is no part of the word that follows
			out = append(out, c, in[i+1])
			i += 2
			continue
		case m == language && c == '"':
			end := bytes.IndexByte(in[i+1:], '"')
			if end < 0 {
				end = len(in) - i - 1
			}
			out = r.text(append(out, c), in[i+1:i+1+end], names)
			i += 1 + end
			if i < len(in) {
				out = append(out, '"')
				i++
			}
			continue
		case !wordByte(c) && !(c == ':' && i+1 < len(in) && in[i+1] == ':' && !(i > 0 && wordByte(in[i-1]))):
			out = append(out, c)
			i++
			continue
		}
		other, n := r.register(in[i:])
		if n == 0 {
			other, n = r.spaced(in[i:])
		}
		if n > 0 {
			out = append(out, other...)
			i += n
			continue
		}
		end := i
		for end < len(in) && (wordByte(in[end]) || joins(in[end])) {
			if end++; bytes.HasPrefix(in[end-1:], []byte(":0x")) {
				break
			}
		}
		as := m
		if m == language {
			as = prose
			if i > 0 && (in[i-1] == '$' || in[i-1] == '@') {
				as = names
			}
		}
		out = r.atom(out, in, i, end, as)
		i = end
	}
	return out
}

// atom appends a run of words and what joins them: addresses, and pieces around them.
func (r *Redactor) atom(out, in []byte, from, end int, m mode) []byte {
	atom := in[from:end]
	if bytes.HasSuffix(bytes.ToLower(bytes.TrimRight(atom, ".")), []byte(".arpa")) {
		if out, ok := r.reversed(out, in, from, end, m); ok {
			return out
		}
	}
	if bytes.Count(atom, []byte(":")) < 2 && bytes.Count(atom, []byte(".")) < 2 && bytes.Count(atom, []byte("-")) < 3 && bytes.Count(atom, []byte("_")) < 3 {
		return r.pieces(out, atom, before(in, from), m)
	}
	last := 0
	for _, at := range address.Get().FindAllIndex(atom, -1) {
		other := r.address(in, from+at[0], from+at[1])
		if other == "" {
			continue
		}
		out = r.pieces(out, atom[last:at[0]], before(in, from+last), m)
		out = append(out, other...)
		last = at[1]
	}
	return r.pieces(out, atom[last:], before(in, from+last), m)
}

// before returns the text that a number may be named by.
func before(in []byte, at int) []byte { return in[max(0, at-12):at] }

// pieces appends words between colons.
func (r *Redactor) pieces(out, text, before []byte, m mode) []byte {
	for len(text) > 0 {
		n := bytes.IndexByte(text, ':')
		if n == 0 {
			out = append(out, ':')
			before = append(bytes.Clone(before), ':')
			text = text[1:]
			continue
		}
		if n < 0 {
			n = len(text)
		}
		core := bytes.Trim(text[:n], "._-")
		at := bytes.Index(text[:n], core)
		out = append(out, text[:at]...)
		if len(core) > 0 {
			out = r.piece(out, string(core), before, m)
		}
		out = append(out, text[at+len(core):n]...)
		before = append(bytes.Clone(before), text[:n]...)
		text = text[n:]
	}
	return out
}

var (
	uuid     = pattern.New(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8}(?:_[0-9a-fA-F]{4}){3}_[0-9a-fA-F]{12}`)
	device   = pattern.New(`^(?:(tap|qvo|qvb|qbr|qg-|qr-|sg-|ha-)([0-9a-f]{8}(?:-[0-9a-f]{1,3})?)|(ovn-)([0-9a-f]{6})(-[0-9]+))$`)
	numeric  = pattern.New(`^[0-9]+(?:[._-][0-9]+)*$`)
	hexWord  = pattern.New(`^(?:[0-9a-f]{8,}|[0-9A-F]{8,})$`)
	hashed   = pattern.New(`^a[0-9]{10,20}$`)
	hexFrame = pattern.New(`^0[xX][0-9a-fA-F]+$`)
)

// piece appends one name, word or number.
func (r *Redactor) piece(out []byte, w string, before []byte, m mode) []byte {
	if len(w) >= 36 {
		if at := uuid.Get().FindStringIndex(w); at != nil {
			if first := w[at[0] : at[0]+8]; r.seeing && numeric.Get().MatchString(first) {
				r.prefixes[first] = true
			}
			out = r.rest(out, w[:at[0]], before, m)
			out = append(out, r.hexDigits(w[at[0]:at[1]])...)
			return r.rest(out, w[at[1]:], nil, m)
		}
	}
	switch {
	case hexFrame.Get().MatchString(w):
		return append(out, r.number(w, before)...)
	case r.prefixes[w]:
		return append(out, r.hexDigits(w)...)
	case numeric.Get().MatchString(w):
		return append(out, r.digits(w, m)...)
	case len(w) > 7 && w[2] == '.' && w[5] == '.' && spells(strings.ReplaceAll(w, ".", "")):
		return append(out, r.hexDigits(w)...)
	case r.known(w, m):
		return append(out, w...)
	}
	if m == names {
		r.call(w)
	} else if r.names[w] {
		m = names // by the same words as where it is called so
	}
	if at := device.Get().FindStringSubmatch(w); at != nil {
		out = append(append(out, at[1]+at[3]...), r.hexDigits(at[2]+at[4])...)
		return append(out, at[5]...)
	}
	for _, whole := range wholes.Get() {
		if at := strings.Index(w, whole); at >= 0 && bounded(w, at, at+len(whole)) {
			out = append(r.rest(out, w[:at], before, m), whole...)
			return r.rest(out, w[at+len(whole):], nil, m)
		}
	}
	for _, prefix := range []string{"node-", "node."} { // Kube-OVN's port and group of a node
		if node, ok := strings.CutPrefix(w, prefix); ok && !numeric.Get().MatchString(node) {
			return r.piece(append(out, prefix...), node, nil, m)
		}
	}
	for len(w) > 0 {
		n := strings.IndexAny(w, "._-")
		if n < 0 {
			n = len(w)
		}
		if n > 0 {
			out = append(out, r.word(w[:n], before, m)...)
		}
		if n < len(w) {
			out = append(out, w[n])
			n++
		}
		w = w[n:]
	}
	return out
}

// call notes a name and, for texts that name it alone, the parts of it that are compounds: the pod of a port "shop_web-1".
func (r *Redactor) call(name string) {
	if !r.seeing {
		return
	}
	r.names[name] = true
	for part := range strings.SplitSeq(name, "_") {
		if strings.ContainsAny(part, "-.0123456789") {
			r.names[part] = true
		}
	}
}

// rest appends a part of a piece, with what joins it to the others.
func (r *Redactor) rest(out []byte, w string, before []byte, m mode) []byte {
	core := strings.Trim(w, "._-")
	if core == "" {
		return append(out, w...)
	}
	head, tail, _ := strings.Cut(w, core)
	return append(r.piece(append(out, head...), core, before, m), tail...)
}

func bounded(w string, from, to int) bool {
	return (from == 0 || !wordByte(w[from-1])) && (to == len(w) || !wordByte(w[to]))
}

// known reports whether a whole piece stays.
func (r *Redactor) known(w string, m mode) bool {
	n := normal(w)
	if parts.Get()[n] || kept.Get().MatchString(w) {
		return true
	}
	if m == names {
		return false
	}
	if grown.Get().MatchString(w) {
		return !r.names[w]
	}
	return syntax.Get()[n] || common.Get()[n] && !r.names[w]
}

// word returns a word of a name, replaced.
func (r *Redactor) word(w string, before []byte, m mode) string {
	switch {
	case hexFrame.Get().MatchString(w):
		return r.number(w, before)
	case numeric.Get().MatchString(w):
		return r.digits(w, m)
	case parts.Get()[normal(w)], len(w) == 1 && m != names:
		return w
	case hashed.Get().MatchString(w):
		return "a" + r.decimals(w[1:])
	case hexWord.Get().MatchString(w):
		return r.hexDigits(w)
	}
	return r.pseudonym(w)
}

// pseudonym replaces a word so that only the key links the two.
func (r *Redactor) pseudonym(w string) string {
	if other := r.words[w]; other != "" {
		return other
	}
	if len(r.words) > 1<<20 {
		clear(r.words)
	}
	other := "n" + hex.EncodeToString(r.sum('w', []byte(w))[:5])
	r.words[w] = other
	return other
}

// Package anonymize redacts a capture so that it does not reveal whose it is: it replaces addresses and names, the
// same everywhere, so that queries have the same results.
//
// # What stays
//
// What is known to be harmless, and nothing else: the words of OVSDB's schemas and of the languages of OpenFlow and OVN, the
// names of known options and the values that these enumerate, what daemons print and log by themselves, the parts of names by
// which a CMS says what a thing is, and numbers. keys.txt, syntax.txt, prose.txt and words.go list them. Which list counts depends
// on the place: in a column for names nothing but the parts of names is known.
//
// # What is replaced
//
// Everything else, keys of maps as well as their values, by pseudonyms of the same shape. Addresses keep the relations of
// their prefixes and the first byte (IPv4) or two (IPv6); MAC addresses keep whether they are multicast. Hexadecimal strings,
// such as UUIDs, cookies and what is derived from their beginnings, keep common prefixes. Names are replaced word by word.
// Secrets are hidden.
//
// # What is left out
//
// Comments of packet filter rules.
//
// The key is random and not saved.
package anonymize

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A Redactor replaces equal text by equal text. It must have seen all that it is to replace before it replaces anything.
type Redactor struct {
	addresses
	hex    cipher.Block
	seeing bool
	names  map[string]bool   // whole ones
	words  map[string]string // with replacements
	// prefixes are the first digits of UUIDs if they look like a number: what is derived from a UUID begins with them.
	prefixes map[string]bool
}

// New returns a Redactor with its own key.
func New() *Redactor {
	block, err := aes.NewCipher(randomKey()[:16])
	if err != nil {
		panic(err) // the key's length is right
	}
	return &Redactor{addresses: newAddresses(), hex: block, names: map[string]bool{}, words: map[string]string{}, prefixes: map[string]bool{}}
}

// SeeFile notes the addresses and names in a file, which has this path in a capture.
func (r *Redactor) SeeFile(name string, content []byte) {
	r.seeing = true
	r.file(name, content)
}

// seeName notes a name that is in no file.
func (r *Redactor) seeName(name string) {
	r.seeing = true
	r.text(nil, []byte(name), names)
}

// File returns a file's path and content with everything replaced.
func (r *Redactor) File(name string, content []byte) (newName string, redacted []byte) {
	r.settle()
	redacted = r.file(name, content)
	return r.fileName(name, redacted), redacted
}

// Text returns a text with everything replaced.
func (r *Redactor) Text(text string) string {
	r.settle()
	return string(r.text(nil, secret.Text([]byte(text)), prose))
}

// Name returns a name with everything replaced.
func (r *Redactor) Name(name string) string {
	r.settle()
	return string(r.text(nil, []byte(name), names))
}

// settle ends seeing.
func (r *Redactor) settle() {
	if r.seeing {
		r.seeing = false
		r.settleAddresses()
		clear(r.words)
	}
}

func (r *Redactor) file(name string, content []byte) []byte {
	switch {
	case bytes.HasPrefix(content, []byte("OVSDB ")):
		return ovsdb.RewriteRecords(content, r.record)
	case bytes.HasPrefix(content, []byte(`{"caption":`)), strings.HasSuffix(name, "/conf.json"):
		return r.tables(content)
	case strings.HasSuffix(name, ".json") && bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")), bytes.HasPrefix(content, []byte("[")), bytes.HasPrefix(content, []byte("{")):
		return r.document(content)
	}
	return r.text(nil, secret.Text(content), prose)
}

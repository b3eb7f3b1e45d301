package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// The files of a node's directory, as Recorder writes and Offline reads them.
const (
	confDB      = "conf.db"   // ovsdb-client backup
	confJSON    = "conf.json" // ovsdb-client dump -f json
	networkFile = "network.json"
	natFile     = "nat.json"
)

// controlFile is the file of a saved reply; refused is for a *ControlError.
func controlFile(daemon, command string, args []string, refused bool) string {
	name := archive.ControlFile(daemon, command, args)
	if refused {
		name = strings.TrimSuffix(name, ".txt") + ".error.txt"
	}
	return name
}

// A savedRoute is a lookup with its answer.
type savedRoute struct {
	Query RouteQuery `json:"query"`
	Route *Route     `json:"route"`
}

func routeFile(dir string, q RouteQuery) string {
	return path.Join(dir, hash(string(archive.Compact(q)))+".json")
}

func podFile(link string) string { return path.Join("pod", archive.SafeName(link)+".json") }

func podRoutes(link string) string { return path.Join("pod", archive.SafeName(link)+".routes") }

func hash(s string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16]
}

const hidden = "<hidden>"

// secretKey finds the names of values that are never written.
var secretKey = regexp.MustCompile(`(?i)token|password|secret|psk|key-data`)

// In text a secret is KEY=VALUE, in files also KEY: VALUE.
var (
	secretPair = regexp.MustCompile(`(?i)([\w.-]*(?:token|password|secret|psk|key-data)[\w.-]*"?=)("[^"\n]*"|[^=\s,}"][^\s,}"]*)`)
	secretLine = regexp.MustCompile(`(?im)^(\s*-?\s*"?[\w.-]*(?:token|password|secret|psk|key-data)[\w.-]*"?\s*:\s*)\S.*$`)
	secretSaid = regexp.MustCompile(`(?i)([\w.-]*(?:token|password|secret|psk|key-data)[\w.-]*"?\s*:\s+)("[^"\n]*"|[^\s,}"]+)`) // in a line of a log
	keyLine    = regexp.MustCompile(`(?im)^(\s*(?:private-?key|wep-key\d)\s*[=:]\s*)[^/\s].*$`)                                 // of a file; a path is none
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
)

func hideText(b []byte) []byte {
	b = privateKey.ReplaceAll(b, []byte(hidden))
	return secretPair.ReplaceAll(b, []byte("${1}"+hidden))
}

func hideFile(b []byte) []byte {
	if bytes.HasPrefix(b, []byte("OVSDB ")) {
		return ovsdb.RewriteRecords(b, hidePairs)
	}
	b = hideText(b)
	for _, r := range []*regexp.Regexp{secretLine, keyLine, secretSaid} {
		b = r.ReplaceAll(b, []byte("${1}"+hidden))
	}
	return b
}

var databasePair = regexp.MustCompile(`(?i)(\["[^"\n]*(?:token|password|secret|psk|key-data)[^"\n]*",\s*")(?:[^"\\\n]|\\.)*(")`)

func hidePairs(text []byte) []byte {
	text = hideText(text) // of the comments, which quote commands
	return databasePair.ReplaceAll(text, []byte("${1}"+hidden+"${2}"))
}

// HideValue hides the secret values in a column of a row, in OVSDB's notation.
func HideValue(v ovsdb.Value) ovsdb.Value {
	// A single value is no map: of logical flows the long ones are not searched.
	text := strings.TrimLeft(string(v), " \t\r\n")
	if !strings.HasPrefix(text, "[") || strings.HasPrefix(text, `["uuid",`) || !secretKey.MatchString(text) {
		return v
	}
	var datum any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&datum) != nil {
		return v
	}
	hideRow(datum)
	return ovsdb.Value(archive.Compact(datum))
}

// hideRow hides the secret values in the maps of a row, or of any part of an
// OVSDB value: ["map",[[KEY,VALUE],…]].
func hideRow(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, column := range v {
			hideRow(column)
		}
	case []any:
		if len(v) == 2 {
			if key, ok := v[0].(string); ok && secretKey.MatchString(key) {
				if _, ok := v[1].(string); ok {
					v[1] = hidden
					return
				}
			}
		}
		for _, e := range v {
			hideRow(e)
		}
	}
}

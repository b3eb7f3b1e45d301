package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The files of a node's directory, as Recorder writes and Offline reads them.
const (
	confDB      = "conf.db"   // ovsdb-client backup
	confJSON    = "conf.json" // ovsdb-client dump -f json
	networkFile = "network.json"
	natFile     = "nat.json"
)

// request is a control command as the first line of its saved reply has it.
func request(daemon, command string, args []string) string {
	return string(compact(append([]string{daemon, command}, args...)))
}

// controlFile is the file of a saved reply; refused is for a *ControlError.
func controlFile(daemon, command string, args []string, refused bool) string {
	name := fmt.Sprintf("%s-%s-%s", safeName(daemon), safeName(command), hash(request(daemon, command, args)))
	if refused {
		name += ".error"
	}
	return path.Join("control", name+".txt")
}

// A savedRoute is a lookup with its answer.
type savedRoute struct {
	Query RouteQuery `json:"query"`
	Route *Route     `json:"route"`
}

func routeFile(dir string, q RouteQuery) string {
	return path.Join(dir, hash(string(compact(q)))+".json")
}

func podFile(link string) string { return path.Join("pod", safeName(link)+".json") }

func podRoutes(link string) string { return path.Join("pod", safeName(link)+".routes") }

func hostFile(name string) string {
	parts := []string{"files"}
	for _, p := range strings.Split(path.Clean("/"+name), "/") {
		if p != "" {
			parts = append(parts, safeName(p))
		}
	}
	return path.Join(parts...)
}

func hash(s string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16]
}

// compact is JSON in one line, with <, > and & as they are.
func compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only what JSON can hold comes here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// safeName makes any text the name of a file: what is neither a letter, a
// digit nor one of ._- becomes an underscore, and none begins with a dot.
func safeName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, s)
	if safe == "" || safe[0] == '.' {
		safe = "_" + safe
	}
	if safe != s || len(safe) > 100 { // keep apart what is now the same
		safe = safe[:min(len(safe), 80)] + "-" + hash(s)[:8]
	}
	return safe
}

const hidden = "<hidden>"

// secretKey finds the names of values that are never written.
var secretKey = regexp.MustCompile(`(?i)token|password|secret|psk|key-data`)

// In text a secret is KEY=VALUE, in files also KEY: VALUE.
var (
	secretPair = regexp.MustCompile(`(?i)([\w.-]*(?:token|password|secret|psk|key-data)[\w.-]*"?=)("[^"\n]*"|[^=\s,}"][^\s,}"]*)`)
	secretLine = regexp.MustCompile(`(?im)^(\s*-?\s*"?[\w.-]*(?:token|password|secret|psk|key-data)[\w.-]*"?\s*:\s*)\S.*$`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
)

func hideText(b []byte) []byte {
	b = privateKey.ReplaceAll(b, []byte(hidden))
	return secretPair.ReplaceAll(b, []byte("${1}"+hidden))
}

func hideFile(b []byte) []byte {
	return secretLine.ReplaceAll(hideText(b), []byte("${1}"+hidden))
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

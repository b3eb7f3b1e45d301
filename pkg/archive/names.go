package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// SafeName turns any text into a file name: all but letters, digits and ._- become underscores, and none begins with
// a dot. Two texts never share a name.
func SafeName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, s)
	if safe == "" || safe[0] == '.' {
		safe = "_" + safe
	}
	if safe != s || len(safe) > 100 { // keep names distinct
		sum := sha256.Sum256([]byte(s))
		safe = fmt.Sprintf("%s-%x", safe[:min(len(safe), 80)], sum[:4])
	}
	return safe
}

// HostFile returns the path of a node's file in its directory.
func HostFile(name string) string {
	parts := []string{"files"}
	for _, p := range strings.Split(path.Clean("/"+name), "/") {
		if p != "" {
			parts = append(parts, SafeName(p))
		}
	}
	return path.Join(parts...)
}

// Request returns a control command as in the first line of its saved reply.
func Request(daemon, command string, args []string) string {
	return string(Compact(append([]string{daemon, command}, args...)))
}

// ControlFile returns a saved reply's file in a node's directory.
func ControlFile(daemon, command string, args []string) string {
	sum := sha256.Sum256([]byte(Request(daemon, command, args)))
	return fmt.Sprintf("control/%s-%s-%x.txt", SafeName(daemon), SafeName(command), sum[:8])
}

// Compact returns JSON in one line, with <, > and & unescaped.
func Compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // callers pass only what JSON can hold
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// SafeName makes any text the name of a file: what is neither a letter, a
// digit nor one of ._- becomes an underscore, and none begins with a dot. Two
// texts never share a name.
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
	if safe != s || len(safe) > 100 { // keep apart what is now the same
		sum := sha256.Sum256([]byte(s))
		safe = fmt.Sprintf("%s-%x", safe[:min(len(safe), 80)], sum[:4])
	}
	return safe
}

// HostFile is where a node's directory keeps a file of the node.
func HostFile(name string) string {
	parts := []string{"files"}
	for _, p := range strings.Split(path.Clean("/"+name), "/") {
		if p != "" {
			parts = append(parts, SafeName(p))
		}
	}
	return path.Join(parts...)
}

// Request is a control command as the first line of its saved reply has it.
func Request(daemon, command string, args []string) string {
	return string(Compact(append([]string{daemon, command}, args...)))
}

// ControlFile is the file of a saved reply in a node's directory.
func ControlFile(daemon, command string, args []string) string {
	sum := sha256.Sum256([]byte(Request(daemon, command, args)))
	return fmt.Sprintf("control/%s-%s-%x.txt", SafeName(daemon), SafeName(command), sum[:8])
}

// Compact is JSON in one line, with <, > and & as they are.
func Compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only what JSON can hold comes here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

package node

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// The files of a node's directory, which Recorder writes and Offline reads.
const (
	confDB      = "conf.db"   // ovsdb-client backup
	confJSON    = "conf.json" // ovsdb-client dump -f json
	networkFile = "network.json"
)

// controlFile names a saved reply's file; refused is for a *ControlError.
func controlFile(daemon, command string, args []string, refused bool) string {
	name := archive.ControlFile(daemon, command, args)
	if refused {
		name = strings.TrimSuffix(name, ".txt") + ".error.txt"
	}
	return name
}

// A savedRoute is a lookup with its result.
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

// withoutSecrets is a file of the node with its secrets hidden.
func withoutSecrets(file []byte) []byte {
	if bytes.HasPrefix(file, []byte("OVSDB ")) {
		return ovsdb.RewriteRecords(file, secret.Text)
	}
	return secret.Text(file)
}

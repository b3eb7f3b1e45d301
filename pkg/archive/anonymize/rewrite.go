package anonymize

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// maxFile bounds a file of a capture, in bytes.
const maxFile = 4 << 30

// Rewrite writes a redacted copy of a capture.
func (r *Redactor) Rewrite(tree *archive.Tree, w *archive.Writer) error {
	if err := r.See(tree); err != nil {
		return err
	}
	return r.Write(tree, w)
}

// See notes the addresses and names in a capture.
func (r *Redactor) See(tree *archive.Tree) error {
	x := tree.Index()
	if x == nil {
		return errNoCapture
	}
	for _, n := range x.Nodes {
		r.seeName(n.Name)
	}
	for _, f := range x.Files {
		content, err := tree.ReadFile(f.Name, maxFile)
		if err != nil {
			return err
		}
		r.SeeFile(f.Name, content)
	}
	return nil
}

var errNoCapture = errors.New("this is not a capture")

// Write writes a redacted copy of a capture that it has seen.
func (r *Redactor) Write(tree *archive.Tree, w *archive.Writer) error {
	x := tree.Index()
	if x == nil {
		return errNoCapture
	}
	times := map[string]archive.IndexEntry{}
	for _, f := range x.Files {
		content, err := tree.ReadFile(f.Name, maxFile)
		if err != nil {
			return err
		}
		name, content := r.File(f.Name, content)
		if err := w.Keep(r.Name(f.Node), name, r.Text(f.What), content); err != nil {
			return err
		}
		times[name] = f
	}
	w.Describe(func(y *archive.Index) {
		y.Started, y.Redacted, y.Apart = x.Started, true, x.Apart
		for i := range y.Files {
			y.Files[i].Time = times[y.Files[i].Name].Time
		}
		for _, n := range x.Nodes {
			n.Name, n.SystemID, n.Dir = r.Name(n.Name), r.Name(n.SystemID), r.Name(n.Dir)
			y.Nodes = append(y.Nodes, n)
		}
		for _, db := range x.Databases {
			db.Zone, db.File, db.Origin = r.Name(db.Zone), r.fileName(db.File, nil), r.Text(db.Origin)
			for i := range db.Datapaths {
				db.Datapaths[i] = r.Name(db.Datapaths[i])
			}
			y.Databases = append(y.Databases, db)
		}
		for _, f := range x.Failed {
			f.Node, f.What, f.Why = r.Name(f.Node), r.Text(f.What), r.Text(f.Why)
			y.Failed = append(y.Failed, f)
		}
		for _, note := range x.Notes {
			y.Notes = append(y.Notes, r.Text(note))
		}
	})
	return nil
}

// dumps are the names of a bridge's dumps, before and after the bridge's.
var dumps = pattern.New(`^((?:flows|groups|ports|meters|tlv-map)-)(.*)(\.txt)$`)

// fileName returns a file's new name, part of which may be a hash of its content.
func (r *Redactor) fileName(name string, content []byte) string {
	first, rest, nested := strings.Cut(name, "/")
	if !nested || strings.HasSuffix(first, ".parts") {
		return name
	}
	dir, base := path.Split(rest)
	inside := path.Base(path.Dir(name))
	at := dumps.Get().FindStringSubmatch(base)
	switch {
	case dir == "" && at != nil:
		base = at[1] + r.Name(at[2]) + at[3]
	case dir == "", strings.HasSuffix(inside, ".parts"), inside == "logs", inside == "units": // named by this program
	case inside == "control":
		base = controlName(base, content)
	case inside == "glob", inside == "space", inside == "route", strings.HasSuffix(inside, ".routes"):
		base = hashName(base, content)
		dir = r.jsonName(dir, ".routes/")
	case inside == "pod", inside == "features":
		base = r.jsonName(base, ".json")
	default:
		dir, base = "", r.Text(rest)
	}
	return r.Name(first) + "/" + dir + base
}

// jsonName returns the name of a file named by a link, with the end that it has.
func (r *Redactor) jsonName(name, end string) string {
	dir, base := path.Split(strings.TrimSuffix(name, "/"))
	link, ok := strings.CutSuffix(base, strings.TrimSuffix(end, "/"))
	if !ok {
		return name
	}
	return dir + r.Name(link) + end
}

// controlName returns the name of a control command's reply.
func controlName(base string, content []byte) string {
	line, _, _ := strings.Cut(string(content), "\n")
	var request []string
	if json.Unmarshal([]byte(line), &request) != nil || len(request) < 2 {
		return base
	}
	saved := path.Base(archive.ControlFile(request[0], request[1], request[2:]))
	if strings.HasSuffix(base, ".error.txt") {
		saved = strings.TrimSuffix(saved, ".txt") + ".error.txt"
	}
	return saved
}

// hashName returns the name of a file that is named by the hash of what was asked.
func hashName(base string, content []byte) string {
	var asked struct {
		Query   json.RawMessage
		Pattern string
		Path    string
	}
	if json.Unmarshal(content, &asked) != nil {
		return base
	}
	key := asked.Pattern + asked.Path
	var query bytes.Buffer
	if json.Compact(&query, asked.Query) == nil && query.Len() > 0 {
		key = query.String()
	}
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%x.json", sum[:8])
}

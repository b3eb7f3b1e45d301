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
)

// maxFile bounds a file of a capture, in bytes.
const maxFile = 4 << 30

// Rewrite writes a redacted copy of a capture.
func Rewrite(tree *archive.Tree, w *archive.Writer) error {
	x := tree.Index()
	if x == nil {
		return errors.New("this is not a capture")
	}
	r := New()
	for _, n := range x.Nodes {
		r.SeeName(n.Name)
	}
	for _, f := range x.Files {
		content, err := tree.ReadFile(f.Name, maxFile)
		if err != nil {
			return err
		}
		r.See(f.Name, content)
	}
	text := func(s string) string { return string(r.Text([]byte(s))) }
	times := map[string]archive.IndexEntry{}
	left := 0
	for _, f := range x.Files {
		content, err := tree.ReadFile(f.Name, maxFile)
		if err != nil {
			return err
		}
		if leaves(f.Name, content) {
			left++
			continue
		}
		content = r.File(content)
		name := r.fileName(f.Name, content)
		if err := w.Keep(text(f.Node), name, text(f.What), content); err != nil {
			return err
		}
		times[name] = f
	}
	w.Describe(func(y *archive.Index) {
		y.Started, y.Redacted = x.Started, true
		for i := range y.Files {
			y.Files[i].Time = times[y.Files[i].Name].Time
		}
		for _, n := range x.Nodes {
			n.Name, n.SystemID, n.Dir = text(n.Name), text(n.SystemID), text(n.Dir)
			y.Nodes = append(y.Nodes, n)
		}
		for _, db := range x.Databases {
			db.Zone, db.File, db.Origin = text(db.Zone), text(db.File), text(db.Origin)
			y.Databases = append(y.Databases, db)
		}
		for _, f := range x.Failed {
			f.Node, f.What, f.Why = text(f.Node), text(f.What), text(f.Why)
			y.Failed = append(y.Failed, f)
		}
		for _, note := range x.Notes {
			y.Notes = append(y.Notes, text(note))
		}
		y.Notes = append(y.Notes, fmt.Sprintf("redacted: %d logs and raw database files are left out", left))
	})
	return nil
}

// fileName returns a file's new name, part of which may be a hash of its content.
func (r *Redactor) fileName(name string, content []byte) string {
	dir, base := path.Split(name)
	switch inside := path.Base(path.Dir(name)); {
	case inside == "control":
		line, _, _ := strings.Cut(string(content), "\n")
		var request []string
		if json.Unmarshal([]byte(line), &request) == nil && len(request) > 1 {
			saved := archive.ControlFile(request[0], request[1], request[2:])
			if strings.HasSuffix(base, ".error.txt") {
				saved = strings.TrimSuffix(saved, ".txt") + ".error.txt"
			}
			return string(r.Text([]byte(path.Dir(path.Dir(name))))) + "/" + saved
		}
	case inside == "glob", inside == "space", inside == "route", strings.HasSuffix(inside, ".routes"):
		var asked struct {
			Query   json.RawMessage
			Pattern string
			Path    string
		}
		if json.Unmarshal(content, &asked) == nil {
			key := asked.Pattern + asked.Path
			var query bytes.Buffer
			if json.Compact(&query, asked.Query) == nil && query.Len() > 0 {
				key = query.String()
			}
			sum := sha256.Sum256([]byte(key))
			base = fmt.Sprintf("%x.json", sum[:8])
		}
		return string(r.Text([]byte(dir))) + base
	}
	return string(r.Text([]byte(name)))
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// More files of a node's directory, which Recorder writes and Offline reads.
const (
	dirsFile      = "dirs.json"
	daemonsFile   = "daemons.json"
	processesFile = "processes.json"
	firewallFile  = "firewall.json"
	socketsFile   = "sockets.json"
)

func logFile(daemon string) string { return path.Join("logs", archive.SafeName(daemon)+".log") }

// absentFile stands for a file of the host that is known not to exist.
func absentFile(saved string) string { return path.Join("absent", saved) }

// Replies that belong to a name include it, so that none is mistaken.
type (
	savedGlob struct {
		Pattern string   `json:"pattern"`
		Paths   []string `json:"paths"`
	}
	savedSpace struct {
		Path string `json:"path"`
		Space
	}
	savedFeatures struct {
		Link     string          `json:"link"`
		Features map[string]bool `json:"features"`
	}
)

func globFile(pattern string) string { return path.Join("glob", hash(pattern)+".json") }

func spaceFile(name string) string { return path.Join("space", hash(name)+".json") }

func unitFile(name string) string { return path.Join("units", archive.SafeName(name)+".json") }

func featuresFile(link string) string { return path.Join("features", archive.SafeName(link)+".json") }

func (o *offline) Dirs(context.Context) (Dirs, error) {
	var d Dirs
	err := o.readJSON(dirsFile, "record it on the node with --record", &d)
	if errors.Is(err, ErrUnavailable) { // from the saved files
		err = nil
	}
	return findDirs(d, func(string) string { return "" }, func(name string) bool { return o.tree.Has(path.Join(o.dir, archive.HostFile(name))) }), err
}

func (o *offline) Daemons(context.Context) ([]Daemon, error) {
	var list []Daemon
	err := o.readJSON(daemonsFile, "record it on the node with --record", &list)
	sortDaemons(list)
	return list, err
}

func (o *offline) Log(ctx context.Context, daemon string) (string, error) {
	if err := checkName("log", daemon); err != nil {
		return "", err
	}
	if o.tree.Has(path.Join(o.dir, absentFile(logFile(daemon)))) {
		return "", fmt.Errorf("log of %s on %s: %w", daemon, o.Name(), fs.ErrNotExist)
	}
	dirs, err := o.Dirs(ctx)
	if err != nil {
		return "", err
	}
	places := []string{logFile(daemon)}
	for _, name := range dirs.logFiles(daemon) {
		places = append(places, archive.HostFile(name))
	}
	for _, name := range places {
		b, err := o.tree.ReadFile(path.Join(o.dir, name), maxSaved)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		cut := len(b) > maxLog
		return lastLines(string(b[max(0, len(b)-maxLog):]), cut), nil
	}
	return "", unavailable("%s: no such file, copy the log of %s there", path.Join(o.Origin(), places[0]), daemon)
}

// Glob returns the recorded reply, else the saved files that match, if any.
func (o *offline) Glob(_ context.Context, pattern string) ([]string, error) {
	if _, err := globParts(pattern); err != nil {
		return nil, err
	}
	var saved savedGlob
	err := o.readJSON(globFile(pattern), "record it on the node with --record", &saved)
	if err == nil && saved.Pattern != pattern {
		return nil, fmt.Errorf("%s: the reply for another pattern, %s", path.Join(o.Origin(), globFile(pattern)), saved.Pattern)
	}
	if !errors.Is(err, ErrUnavailable) {
		return saved.Paths, err
	}
	found, err := glob(pattern, func(dir, _ string) []string {
		names, _ := o.tree.List(path.Join(o.dir, archive.HostFile(dir)))
		return names
	})
	if err == nil && len(found) == 0 {
		return nil, unavailable("%s: no file that matches %s, copy those of the node below files/ there", o.Origin(), pattern)
	}
	return found, err
}

func (o *offline) Processes(context.Context) ([]Process, error) {
	var list []Process
	err := o.readJSON(processesFile, "record it on the node with --record", &list)
	sortProcesses(list)
	return list, err
}

func (o *offline) Firewall(context.Context) ([]Chain, error) {
	var chains []Chain
	err := o.readJSON(firewallFile, "`nft list ruleset` on the node tells", &chains)
	return chains, err
}

func (o *offline) Sockets(context.Context) ([]Socket, error) {
	var sockets []Socket
	err := o.readJSON(socketsFile, "`ss -lntu` on the node tells", &sockets)
	return sockets, err
}

func (o *offline) Space(_ context.Context, name string) (Space, error) {
	var saved savedSpace
	err := o.readJSON(spaceFile(name), "`df -k "+name+"` on the node tells", &saved)
	if err == nil && saved.Path != name {
		err = fmt.Errorf("%s: the reply for another path, %s", path.Join(o.Origin(), spaceFile(name)), saved.Path)
	}
	return saved.Space, err
}

func (o *offline) Unit(_ context.Context, name string) (Unit, error) {
	var u Unit
	if err := checkName("service", name); err != nil {
		return u, err
	}
	err := o.readJSON(unitFile(name), "`systemctl show "+name+"` on the node tells", &u)
	if err == nil && u.Name != name {
		err = fmt.Errorf("%s: the reply for another service, %s", path.Join(o.Origin(), unitFile(name)), u.Name)
	}
	return u, err
}

func (o *offline) Features(_ context.Context, link string) (map[string]bool, error) {
	if !validLink(link) {
		return nil, badName("link", link)
	}
	var saved savedFeatures
	err := o.readJSON(featuresFile(link), "`ethtool -k "+link+"` on the node tells", &saved)
	if err == nil && saved.Link != link {
		err = fmt.Errorf("%s: the reply for another link, %s", path.Join(o.Origin(), featuresFile(link)), saved.Link)
	}
	return saved.Features, err
}

// withoutSecretArgs returns processes with the secrets on their command lines hidden.
func withoutSecretArgs(list []Process) []Process {
	list = slices.Clone(emptyNotNull(list))
	for i := range list {
		list[i].Args = secret.Args(list[i].Args)
	}
	return list
}

func emptyNotNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

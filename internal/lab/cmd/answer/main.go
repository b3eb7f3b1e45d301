// Command answer stands for the shell of a node: it records what a real node's shell replies to ovnctl's scripts, and
// gives those replies again as any number of other nodes.
//
//	answer record DIR NODE COMMAND...   passes scripts on to COMMAND, and records its replies in DIR/NODE
//	answer replay DIR DELAY HOST sh     replies as HOST, "node2-0007": with what node2 said, under the names and the addresses of HOST and of
//	                                    its peers, "node1-0006" and so on: each has as many as were recorded
//	answer mesh DIR DELAY HOST COMMAND... sh
//	                                    replies as HOST of a mesh, in which the recorded nodes have a tunnel to each: HOST and the node that
//	                                    was recorded, node2-0001, change names and addresses. What was not recorded yet is asked of the
//	                                    real node, by COMMAND, in which {node} stands for its name
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// boundary stands in a recording for that of the script, which differs each time.
const boundary = "@boundary@"

func main() {
	var err error
	switch {
	case len(os.Args) > 4 && os.Args[1] == "record":
		err = record(filepath.Join(os.Args[2], os.Args[3]), os.Args[4:])
	case len(os.Args) > 4 && os.Args[1] == "replay":
		err = replay(os.Args[2], os.Args[3], os.Args[4], nil)
	case len(os.Args) > 5 && os.Args[1] == "mesh":
		err = replay(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	default:
		err = fmt.Errorf("record, replay or mesh?")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		os.Exit(1)
	}
}

// lastLine is how a script ends.
var lastLine = regexp.MustCompile(`^main; printf '%s done\\n' (\w+)\n$`)

// scripts calls f with each script on standard input, without its boundary, and with that.
func scripts(f func(script, mark string) error) error {
	in := bufio.NewReader(os.Stdin)
	var script strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		script.WriteString(line)
		if m := lastLine.FindStringSubmatch(line); m != nil {
			if err := f(strings.ReplaceAll(script.String(), m[1], boundary), m[1]); err != nil {
				return err
			}
			script.Reset()
		}
	}
}

func file(dir, script string) string {
	sum := sha256.Sum256([]byte(script))
	return filepath.Join(dir, hex.EncodeToString(sum[:16]))
}

// A shell is that of a real node, whose replies are recorded.
type shell struct {
	dir  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	from *bufio.Reader
}

func enter(dir string, command []string) (*shell, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &shell{dir: dir, cmd: exec.Command(command[0], command[1:]...)}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.from = bufio.NewReader(out)
	return s, s.cmd.Start()
}

// ask returns the reply to a script, and records it.
func (s *shell) ask(script, mark string) ([]byte, error) {
	if _, err := io.WriteString(s.in, strings.ReplaceAll(script, boundary, mark)); err != nil {
		return nil, err
	}
	var reply bytes.Buffer
	for end := []byte(mark + " done\n"); !bytes.HasSuffix(reply.Bytes(), end); {
		line, err := s.from.ReadBytes('\n')
		reply.Write(line)
		if err != nil {
			return nil, err
		}
	}
	kept := bytes.ReplaceAll(reply.Bytes(), []byte(mark), []byte(boundary))
	whole := fmt.Sprint(file(s.dir, script), ".", os.Getpid()) // another process may record the same
	if err := os.WriteFile(whole, kept, 0o644); err != nil {
		return nil, err
	}
	return kept, os.Rename(whole, file(s.dir, script))
}

func (s *shell) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

func record(dir string, command []string) error {
	s, err := enter(dir, command)
	if err != nil {
		return err
	}
	defer s.close()
	return scripts(func(script, mark string) error {
		reply, err := s.ask(script, mark)
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(bytes.ReplaceAll(reply, []byte(boundary), []byte(mark)))
		return err
	})
}

// replay replies as a host: one of a mesh, with a command that enters the real nodes, or one with peers of its own.
func replay(dir, delay, host string, command []string) error {
	wait, err := time.ParseDuration(delay)
	if err != nil {
		return err
	}
	node, number, ok := strings.Cut(host, "-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return fmt.Errorf("%q is not the name of a recorded node with a number, as node2-0007", host)
	}
	there, here, err := names(dir, node, n, command != nil)
	if err != nil {
		return err
	}
	var asked *shell
	defer func() {
		if asked != nil {
			asked.close()
		}
	}()
	return scripts(func(script, mark string) error {
		time.Sleep(wait)
		script = here(script)
		reply, err := os.ReadFile(file(filepath.Join(dir, node), script))
		switch {
		case os.IsNotExist(err) && command == nil: // nobody asked the real node: no part of the reply is there
			_, err = fmt.Printf("%s done\n", mark)
			return err
		case os.IsNotExist(err) && asked == nil:
			var words []string
			for _, word := range command {
				words = append(words, strings.ReplaceAll(word, "{node}", node))
			}
			if asked, err = enter(filepath.Join(dir, node), words); err != nil {
				return err
			}
			fallthrough
		case os.IsNotExist(err):
			reply, err = asked.ask(script, mark)
		}
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(strings.ReplaceAll(rename(string(reply), there), boundary, mark))
		return err
	})
}

// names returns functions that replace the names of the recorded nodes by those of a node and its peers, and back. In a mesh the
// peers are the first nodes and all others, and what the recorded node says of this one is said of the recorded one.
func names(dir, node string, number int, mesh bool) (there, here func(string) string, err error) {
	known, err := filepath.Glob(filepath.Join(dir, "*", "names"))
	if err != nil {
		return nil, nil, err
	}
	own := slices.Index(known, filepath.Join(dir, node, "names"))
	ownMAC := ""
	to, from := map[string]string{}, map[string]string{}
	for i, name := range known {
		text, err := os.ReadFile(name) // the system-id, the address of the recorded node
		if err != nil {
			return nil, nil, err
		}
		peer := filepath.Base(filepath.Dir(name))
		words := strings.Fields(string(text))
		if i == own {
			ownMAC = mac(netip.MustParseAddr(words[1]))
		}
		n := number - own + i
		if mesh && i != own {
			n = i
		}
		host := fmt.Sprintf("%s-%04d", peer, n)
		for was, is := range map[string]string{
			words[0]: host + "-id", words[1]: address(n), `"hostname","` + peer + `"`: `"hostname","` + host + `"`,
		} {
			to[was], from[is] = is, was
		}
	}
	if mesh && number != own {
		for was, is := range map[string]string{
			fmt.Sprintf("%s-%04d-id", node, number): fmt.Sprintf("%s-%04d-id", node, own), address(number): address(own),
		} {
			to[was], from[is] = is, was
		}
		its := mac(netip.MustParseAddr(address(number)))
		to[ownMAC], from[its] = its, ownMAC
	}
	return replacer(to), replacer(from), nil
}

// replacer replaces whole words: 10.0.0.1 is not in 10.0.0.11.
func replacer(words map[string]string) func(string) string {
	var pairs []string // the earlier ones win
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, was := range slices.SortedFunc(maps.Keys(words), longest) {
		for digit := range 10 {
			longer := was + strconv.Itoa(digit)
			if words[longer] == "" {
				pairs = append(pairs, longer, longer)
			}
		}
		pairs = append(pairs, was, words[was])
	}
	return strings.NewReplacer(pairs...).Replace
}

// record of a database file, ovsdb(5).
var databaseRecord = regexp.MustCompile(`OVSDB JSON ([0-9]+) [0-9a-f]{40}\n`)

// rename replaces names in a reply, and in a database file in it so that it stays sound.
func rename(reply string, there func(string) string) string {
	var out strings.Builder
	for {
		at := databaseRecord.FindStringSubmatchIndex(reply)
		if at == nil {
			out.WriteString(there(reply))
			return out.String()
		}
		size, err := strconv.Atoi(reply[at[2]:at[3]])
		if err != nil || size > len(reply)-at[1] {
			size = len(reply) - at[1]
		}
		text := there(reply[at[1] : at[1]+size])
		fmt.Fprintf(&out, "%sOVSDB JSON %d %x\n%s", there(reply[:at[0]]), len(text), sha1.Sum([]byte(text)), text)
		reply = reply[at[1]+size:]
	}
}

// address is the tunnel address of the node with a number.
func address(n int) string { return fmt.Sprintf("172.31.%d.%d", n/250, n%250+1) }

// mac is the MAC address of the bridge to the outside on a node with that address.
func mac(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

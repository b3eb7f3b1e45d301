// Command answer stands for the shell of a node: it records what a real node's shell replies to ovnctl's scripts, and
// gives those replies again as any number of other nodes.
//
//	answer record DIR NODE COMMAND...   passes scripts on to COMMAND, and records its replies in DIR/NODE
//	answer replay DIR DELAY HOST sh     replies as HOST, "node2-0007": with what node2 said, under the names and the addresses of HOST and of
//	                                    its peers, "node1-0006" and so on: each has as many as were recorded
package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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
		err = replay(os.Args[2], os.Args[3], os.Args[4])
	default:
		err = fmt.Errorf("record or replay?")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		os.Exit(1)
	}
}

// lastLine is how a script ends.
var lastLine = regexp.MustCompile(`^printf '%s done\\n' (\w+)\n$`)

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

func record(dir string, command []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	shell := exec.Command(command[0], command[1:]...)
	shell.Stderr = os.Stderr
	in, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	out, err := shell.StdoutPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	from := bufio.NewReader(out)
	err = scripts(func(script, mark string) error {
		if _, err := io.WriteString(in, strings.ReplaceAll(script, boundary, mark)); err != nil {
			return err
		}
		var reply bytes.Buffer
		for end := []byte(mark + " done\n"); !bytes.HasSuffix(reply.Bytes(), end); {
			line, err := from.ReadBytes('\n')
			reply.Write(line)
			if err != nil {
				return err
			}
		}
		if _, err := os.Stdout.Write(reply.Bytes()); err != nil {
			return err
		}
		return os.WriteFile(file(dir, script), bytes.ReplaceAll(reply.Bytes(), []byte(mark), []byte(boundary)), 0o644)
	})
	_ = in.Close()
	_ = shell.Wait()
	return err
}

func replay(dir, delay, host string) error {
	wait, err := time.ParseDuration(delay)
	if err != nil {
		return err
	}
	node, number, ok := strings.Cut(host, "-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return fmt.Errorf("%q is not the name of a recorded node with a number, as node2-0007", host)
	}
	there, here, err := names(dir, node, n)
	if err != nil {
		return err
	}
	return scripts(func(script, mark string) error {
		time.Sleep(wait)
		reply, err := os.ReadFile(file(filepath.Join(dir, node), here(script)))
		if os.IsNotExist(err) { // nobody asked the real node: no part of the reply is there
			_, err = fmt.Printf("%s done\n", mark)
			return err
		}
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(strings.ReplaceAll(rename(string(reply), there), boundary, mark))
		return err
	})
}

// names returns functions that replace the names of the recorded nodes by those of a node and its peers, and back.
func names(dir, node string, number int) (there, here func(string) string, err error) {
	known, err := filepath.Glob(filepath.Join(dir, "*", "names"))
	if err != nil {
		return nil, nil, err
	}
	first := number - slices.Index(known, filepath.Join(dir, node, "names"))
	to, from := map[string]string{}, map[string]string{}
	for i, name := range known {
		text, err := os.ReadFile(name) // the system-id and the address of the recorded node
		if err != nil {
			return nil, nil, err
		}
		peer := filepath.Base(filepath.Dir(name))
		words := strings.Fields(string(text))
		host := fmt.Sprintf("%s-%04d", peer, first+i)
		for was, is := range map[string]string{
			words[0]: host + "-id", words[1]: address(first + i), `"hostname","` + peer + `"`: `"hostname","` + host + `"`,
		} {
			to[was], from[is] = is, was
		}
	}
	return replacer(to), replacer(from), nil
}

// replacer replaces whole words: 10.0.0.1 is not in 10.0.0.11.
func replacer(words map[string]string) func(string) string {
	var pairs []string // the earlier ones win
	for was := range words {
		for digit := range 10 {
			longer := was + strconv.Itoa(digit)
			pairs = append(pairs, longer, longer)
		}
	}
	for was, is := range words {
		pairs = append(pairs, was, is)
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

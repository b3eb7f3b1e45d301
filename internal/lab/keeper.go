package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// keeperVariable makes a process the keeper of the lab in that directory.
const keeperVariable = "OVNCTL_LAB_KEEPER"

// Every program with this package, test binaries included, can be restarted as a keeper: a test cannot rely on another
// binary.
func init() {
	if dir := os.Getenv(keeperVariable); dir != "" {
		// An owner that is killed while it waits for a reply must not take the keeper with it: a write to a standard output that
		// nobody reads ends a program that does not ask for the signal.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		if err := keep(dir, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "lab keeper:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// A keeper is the owner's handle on its keeper: a process that replies in the pods and removes the lab when the pipe to
// the owner breaks.
type keeper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startKeeper(dir string) (*keeper, error) {
	log, err := os.Create(filepath.Join(dir, "keeper.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), keeperVariable+"="+dir)
	cmd.Dir = "/"
	cmd.Stderr = log
	// A session of its own: the terminal's Ctrl-C must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the lab's keeper: %w", err)
	}
	return &keeper{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// order sends one word and waits until the keeper has obeyed.
func (k *keeper) order(word string) error {
	if _, err := fmt.Fprintln(k.in, word); err != nil {
		return fmt.Errorf("lab keeper: %w", err)
	}
	reply, err := k.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("lab keeper: %w", err)
	}
	if reply != word+"\n" {
		return fmt.Errorf("lab keeper: %s", reply)
	}
	return nil
}

// keep runs the keeper: it obeys orders, and removes the lab if they end without "detach".
func keep(dir string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch lines.Text() {
		case "serve":
			s, err := loadState(dir)
			if err == nil {
				err = serveAll(s)
			}
			if err != nil {
				_, _ = fmt.Fprintf(out, "%v\n", err)
				continue
			}
		case "detach":
			_, _ = fmt.Fprintln(out, "detach")
			select {}
		}
		_, _ = fmt.Fprintln(out, lines.Text())
	}
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	return s.removeForSure()
}

package node

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// An Entry starts sh on a node, joined to two pipes, whose ends it closes once it is done with them, and to stderr.
type Entry func(stdin, stdout *os.File, stderr io.Writer) (Session, error)

// A Session is an sh that runs on a node.
type Session struct {
	// Wait returns once sh has ended. An error with an ExitCode() int is how it ended.
	Wait func() error
	// Kill ends it and everything that it started here.
	Kill func()
}

// commandEntry enters a node by a command that runs the command behind it there.
func commandEntry(words []string) Entry {
	return func(stdin, stdout *os.File, stderr io.Writer) (Session, error) {
		cmd := exec.Command(words[0], append(words[1:len(words):len(words)], "sh")...)
		// A session of its own: the command cannot prompt on the terminal, and everything it started ends with it.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.WaitDelay = time.Second
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
		if err := cmd.Start(); err != nil {
			return Session{}, err
		}
		stdin.Close()
		stdout.Close()
		return Session{
			Wait: func() error {
				err := cmd.Wait()
				if errors.Is(err, exec.ErrWaitDelay) { // it left a child with its standard error
					return nil
				}
				return err
			},
			Kill: func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) },
		}, nil
	}
}

// exitCode is the exit status that the end of a session shows; false if it shows none.
func exitCode(err error) (int, bool) {
	if err == nil {
		return 0, true
	}
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok && e.ExitCode() >= 0 {
		return e.ExitCode(), true
	}
	return 0, false
}

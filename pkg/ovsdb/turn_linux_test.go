package ovsdb

import (
	"testing"
	"time"
)

// TestTurns holds that requests of one process share a turn, and that another process waits for it.
func TestTurns(t *testing.T) {
	name := "test-" + t.Name()
	first, second := joinTurn(name), joinTurn(name)
	if first == nil || second == nil {
		t.Fatal("one process does not share its turn")
	}
	if lock, free := lockTurn(name); free && lock != nil {
		t.Error("another has the turn at the same time")
	}
	first()
	if _, free := lockTurn(name); free {
		t.Error("the turn ends before its last request")
	}
	second()
	third := joinTurn(name)
	if third == nil {
		t.Fatal("a request that follows another has no turn")
	}
	time.Sleep(2 * mostKept)
	if _, free := lockTurn(name); free {
		t.Error("the turn ends in its third request")
	}
	third()
	lock, free := lockTurn(name)
	if !free {
		t.Fatal("a turn does not end after long")
	}
	if joinTurn(name) != nil {
		t.Error("two have the turn")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if done := joinTurn(name); done == nil {
		t.Error("nobody has the turn, and it is not free")
	} else {
		done()
	}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if lock, free = lockTurn(name); free {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a turn that nobody uses does not end")
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

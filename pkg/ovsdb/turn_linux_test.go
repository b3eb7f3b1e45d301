package ovsdb

import "testing"

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
	lock, free := lockTurn(name)
	if !free {
		t.Fatal("the turn does not end")
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
}

package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// drawSeed is OVNCTL_SEED, else another one each time.
func drawSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("OVNCTL_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("OVNCTL_SEED: %v", err)
	}
	return seed
}

package main

import (
	"testing"
)

// TestServeFlags refuses what --serve cannot do, before anything is read.
func TestServeFlags(t *testing.T) {
	refused(t, map[string]string{
		"doctor --serve=9476":                       "expected HOST:PORT",
		"doctor --serve=:http":                      "expected HOST:PORT",
		"doctor --serve :9476 --fix":                "exclude each other",
		"doctor --serve :9476 a b c":                "accepts at most 2 arg(s), received 3",
		"doctor --watch 5 --send":                   "or --serve with both",
		"doctor --web.config.file f":                "--web.config.file goes with --serve",
		"--offline demo doctor --serve":             "--serve needs a live deployment",
		"doctor --serve 127.0.0.1:9476 5 -o junit":  "prints table, short or json",
		"doctor --serve --watch 5 [::1]:9476 -o md": "prints table, short or json",
	})
}

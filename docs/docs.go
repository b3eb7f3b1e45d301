// Package docs holds the pages, so that the binary can print them.
package docs

import "embed"

//go:embed *.md checks/*.md verdicts/*.md
var pages embed.FS

// Page is a page by its path below docs without ".md": "trace",
// "checks/stale-chassis", "verdicts/dropped".
func Page(name string) (string, bool) {
	b, err := pages.ReadFile(name + ".md")
	return string(b), err == nil
}

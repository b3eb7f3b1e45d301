//go:build lab

package main

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	siteLink   = regexp.MustCompile(`(?:href|src)="?([^">]+)`)
	siteAnchor = regexp.MustCompile(`\sid="?([^"> ]+)`)
)

// The site of the pages: every link leads somewhere, every page is in the menu, and the search finds.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("hugo", "--quiet", "--panicOnWarning", "--source", "../../site", "--destination", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages := map[string][]string{} // their anchors
	text := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		pages[name] = nil
		if path.Ext(name) != ".html" {
			return nil
		}
		page, err := os.ReadFile(filepath.Join(dir, name))
		text[name] = string(page)
		for _, m := range siteAnchor.FindAllStringSubmatch(text[name], -1) {
			pages[name] = append(pages[name], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for name, page := range text {
		for _, m := range siteLink.FindAllStringSubmatch(page, -1) {
			u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil || u.Scheme != "" {
				continue // elsewhere, or in an example
			}
			to := path.Join(path.Dir(name), u.Path)
			if u.Path == "" {
				to = name
			}
			links++
			anchors, there := pages[to]
			if !there || u.Fragment != "" && !slices.Contains(anchors, u.Fragment) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if links < 1000 {
		t.Errorf("%d links in %d pages", links, len(text))
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	_, menu, _ := strings.Cut(text["index.html"], "<nav")
	menu, _, _ = strings.Cut(menu, "</nav>")
	for _, file := range docs {
		if page := strings.TrimSuffix(filepath.Base(file), ".md") + ".html"; !strings.Contains(menu, page) {
			t.Errorf("the menu lacks %s", page)
		}
	}

	b := openTab(t)
	b.do("open", chromedp.Navigate("file://"+filepath.Join(dir, "checks/acl-drops.html")))
	b.do("search", chromedp.SendKeys("#search", "transient ports", chromedp.ByQuery))
	b.shows("#hits", "transient")
	b.accessible("a page of the site")
	b.do("the first hit", chromedp.Click("#hits a", chromedp.ByQuery))
	b.shows("main", "transient")
	b.do("a narrow screen", b.width(320))
	b.is("its width", `document.documentElement.scrollWidth`, "320")
}

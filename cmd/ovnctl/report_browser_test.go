//go:build lab

package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A report works in Debian's browser: without a complaint, by search, by clicks and by the keyboard, on a narrow screen, in the dark
// and on paper.
func TestReportInBrowser(t *testing.T) {
	file := writeReport(t, exitOK, "--offline", "demo", "--trace", "shop/client bank/vault-2 tcp/8080", "--trace", "shop/client svc:shop/web tcp/80", "--reach", "tcp/8080")
	b := openTab(t)
	b.do("open", chromedp.Navigate("file://"+file))
	b.is("labels that overlap", overlapping, "")
	b.accessible("the report")

	b.do("search", chromedp.SendKeys("#search", "vault-2", chromedp.ByQuery))
	b.do("the first hit", chromedp.Click("#hits button", chromedp.ByQuery))
	b.shows("#object", "10.244.2.7")
	b.escape()

	b.press("a click", box("GR_node1"))
	b.shows("#object", "router GR_node1")
	b.shows("#object", "port rtoj-GR_node1") // a neighbour
	b.escape()
	b.do("Enter on a box", chromedp.Evaluate(box("GR_node1")+`.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}))`, nil))
	b.shows("#object", "router GR_node1")
	b.escape()

	// Two workloads lead to their path, or to the command that follows it.
	b.choose("from", "shop/client")
	b.shows("#ends", "from shop/client to …")
	b.choose("to", "bank/vault-2")
	b.is("the path", `document.activeElement.querySelector("h3").textContent`, "shop/client → bank/vault-2  tcp 8080")
	b.choose("to", "shop/web-1")
	b.shows("#ends", "ovnctl --offline demo trace shop/client shop/web-1")

	b.accessible("the report with an object and two ends")
	b.do("a narrow screen", b.width(320))
	b.is("its width", `document.documentElement.scrollWidth`, "320")

	background := func(of string) string { return fmt.Sprintf(`getComputedStyle(document.querySelector(%q))`, of) }
	b.do("the dark", b.prefers("dark"))
	b.is("the page in the dark", background("body")+`.backgroundColor`, "rgb(13, 17, 23)")
	b.is("a picture in the dark", background("rect.page")+`.fill`, "rgb(13, 17, 23)")
	b.do("paper", emulation.SetEmulatedMedia().WithMedia("print"))
	b.is("the search on paper", background(".search")+`.display`, "none")
}

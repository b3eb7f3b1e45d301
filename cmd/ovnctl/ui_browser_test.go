//go:build lab

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ovnctl/ovnctl/pkg/record"
)

// startUI serves a page until the test ends, and returns its address with the token.
func startUI(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, said := io.Pipe()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- run(ctx, append([]string{"ui", "--port", "0"}, args...), strings.NewReader(""), said, &errs)
		_ = said.Close()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("ui: exit code %d: %s", code, errs.String())
		}
	})
	if err != nil {
		t.Fatalf("no address: %s", errs.String())
	}
	return strings.TrimSpace(address)
}

// The served page traces what is chosen, completes names, and asks who can talk to whom.
func TestUIInBrowser(t *testing.T) {
	b := openTab(t)
	b.do("open", chromedp.Navigate(startUI(t, "--offline", "demo")))
	b.is("the address has no token", "location.search", "")
	b.looks("ui", "")

	b.do("from", chromedp.SendKeys("[name=from]", "shop/cl", chromedp.ByQuery))
	b.do("names", chromedp.Poll(`[...document.querySelectorAll("#names option")].some((o) => o.value === "shop/client")`, nil))
	b.do("the question", chromedp.SendKeys("[name=from]", "ient", chromedp.ByQuery), chromedp.SendKeys("[name=to]", "bank/vault-2", chromedp.ByQuery),
		chromedp.SetValue("[name=protocol]", "tcp", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("#ask [name=protocol]").dispatchEvent(new Event("change"))`, nil),
		chromedp.SendKeys("#ask [name=port]", "8080", chromedp.ByQuery), chromedp.Click("#ask button", chromedp.ByQuery))
	b.shows("#answers article", "DROPPED")
	b.shows("#answers", "shop/client → bank/vault-2")
	b.looks("ui-path", "#answers article")

	b.do("who can talk to whom", chromedp.Click("#ask-reach button", chromedp.ByQuery))
	b.shows("#matrix", "delivered")
	b.is("labels that overlap", overlapping, "")
	b.accessible("the page")
	b.do("in the dark", b.prefers("dark"))
	b.accessible("the page in the dark")
	b.looks("ui-dark", "#overview")
	b.do("a narrow screen", b.prefers("light"), b.width(320))
	b.is("its width", "document.documentElement.scrollWidth", "320")
	b.looks("ui-narrow", "header")

	// Two workloads of the map are traced.
	b.do("wide again", b.width(1200))
	b.choose("from", "shop/client")
	b.choose("to", "shop/web-1")
	b.shows("#answers article", "shop/client → shop/web-1")
	b.is("the question", `document.querySelector("[name=to]").value`, "shop/web-1")
	b.do("the first again", chromedp.SetValue("[name=to]", "bank/vault-2", chromedp.ByQuery), chromedp.Click("#ask button", chromedp.ByQuery))
	b.shows("#answers article", "DROPPED")

	// The question is in the address, and a wrong one is answered with what is wrong.
	b.do("again", b.width(1200), chromedp.Reload())
	b.shows("#answers article", "DROPPED")
	b.do("a wrong name", chromedp.SetValue("[name=to]", "bank/vaultt-2", chromedp.ByQuery), chromedp.Click("#ask button", chromedp.ByQuery))
	b.shows("#said", "bank/vault-2")

}

// A record has a slider: the question that was asked is asked at the moment that is chosen.
func TestUIThroughRecord(t *testing.T) {
	dir, _, during, _ := keepRecord(t)
	b := openTab(t)
	address := startUI(t, "--offline", dir) + "&from=lsp:a&to=lsp:b&protocol=tcp&port=80"
	b.do("open", chromedp.Navigate(address))
	b.shows("#answers article", "DELIVERED")
	b.shows("#told", "the end")
	b.do("the change before", chromedp.Click("#earlier", chromedp.ByQuery))
	b.do("and the one before", chromedp.WaitReady("#moment", chromedp.ByQuery), chromedp.Sleep(500*time.Millisecond), chromedp.Click("#earlier", chromedp.ByQuery))
	b.shows("#told", "1 ACL, 1 Logical_Switch")

	// At a moment while the ACL is there, by the address of the page.
	b.do("a moment", chromedp.Evaluate(`location.search = "?from=lsp:a&to=lsp:b&protocol=tcp&port=80&at=`+during.Local().Format(record.TimeFormat)+`"`, nil))
	b.shows("#answers article", "DROPPED")
	b.shows("#answers", "tcp.dst == 80")
	b.do("no moment", chromedp.Evaluate(`location.search = "?at=2999-01-01T00:00"`, nil))
	b.shows("body", "the record ends at")
}

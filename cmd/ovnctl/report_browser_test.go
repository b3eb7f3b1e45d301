//go:build lab

package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// overlapping is a script that counts the labels of all pictures that overlap as the browser writes them: a pixel is
// what antialiasing adds.
const overlapping = `[...document.querySelectorAll("svg")].flatMap((svg) => {
	const all = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
	const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
	return all.flatMap(([s, a], i) => all.slice(i + 1).filter(([, b]) => meet(a, b)).map(([t]) => s + " / " + t));
}).join("\n")`

// A report works in Debian's browser: without a complaint, by search, by clicks and by the keyboard, on a narrow screen, in the dark
// and on paper.
func TestReportInBrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "case.html")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"--offline", "demo", "report", file, "--trace", "shop/client bank/vault-2 tcp/8080", "--trace", "shop/client svc:shop/web tcp/80",
		"--reach", "tcp/8080"}, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer stop()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()
	complaints := make(chan string, 100)
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			complaints <- event.ExceptionDetails.Error()
		case *log.EventEntryAdded:
			complaints <- event.Entry.Text
		}
	})
	do := func(what string, actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	is := func(what, script, want string) {
		t.Helper()
		var got string
		do(what, chromedp.Evaluate(`String(`+script+`)`, &got))
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	panel := func(want string) {
		t.Helper()
		var text string
		do("the panel", chromedp.WaitVisible("#object", chromedp.ByQuery), chromedp.Text("#object", &text, chromedp.ByQuery))
		if !strings.Contains(text, want) {
			t.Errorf("the panel lacks %q: %s", want, text)
		}
	}
	do("open", log.Enable(), chromedp.Navigate("file://"+file))
	is("labels that overlap", overlapping, "")

	do("search", chromedp.SendKeys("#search", "vault-2", chromedp.ByQuery))
	do("the first hit", chromedp.Click("#hits button", chromedp.ByQuery))
	panel("10.244.2.7")
	do("Escape", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#object", chromedp.ByQuery))

	box := `[...document.querySelectorAll("[data-object]")].find((g) => g.textContent.includes("GR_node1"))`
	do("a click", chromedp.Evaluate(box+`.dispatchEvent(new MouseEvent("click", {bubbles: true}))`, nil))
	panel("router GR_node1")
	panel("port rtoj-GR_node1") // a neighbour
	do("Escape", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#object", chromedp.ByQuery))
	do("Enter on a box", chromedp.Evaluate(box+`.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}))`, nil))
	panel("router GR_node1")
	do("Escape", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#object", chromedp.ByQuery))

	do("a narrow screen", chromedp.EmulateViewport(320, 800))
	is("its width", `document.documentElement.scrollWidth`, "320")

	background := func(of string) string { return fmt.Sprintf(`getComputedStyle(document.querySelector(%q))`, of) }
	do("the dark", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	is("the page in the dark", background("body")+`.backgroundColor`, "rgb(13, 17, 23)")
	is("a picture in the dark", background("rect.page")+`.fill`, "rgb(13, 17, 23)")
	do("paper", emulation.SetEmulatedMedia().WithMedia("print"))
	is("the search on paper", background(".search")+`.display`, "none")

	for range len(complaints) {
		t.Errorf("the browser complains: %s", <-complaints)
	}
}

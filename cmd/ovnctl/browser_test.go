//go:build lab

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
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

// A tab is one of Debian's browser. What the browser complains about fails the test.
type tab struct {
	*testing.T
	ctx context.Context
}

// fontConfig names the fonts of Debian's package fonts-dejavu-core alone, drawn as Debian has it, fonts-conf(5).
const fontConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>/usr/share/fonts/truetype/dejavu</dir>
<cachedir>%s</cachedir>
<match target="pattern">
<edit name="antialias" mode="assign"><bool>true</bool></edit>
<edit name="hinting" mode="assign"><bool>true</bool></edit>
<edit name="hintstyle" mode="assign"><const>hintslight</const></edit>
</match>
</fontconfig>
`

func openTab(t *testing.T) tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	fonts := filepath.Join(t.TempDir(), "fonts.conf") // the same on every machine, whatever else it has
	if err := os.WriteFile(fonts, fmt.Appendf(nil, fontConfig, t.TempDir()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1200, 900), chromedp.Env("FONTCONFIG_FILE="+fonts))...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the browser complains: %s", event.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			t.Errorf("the browser complains: %s", event.Entry.Text)
		}
	})
	b := tab{t, ctx}
	b.do("the browser", log.Enable(), b.width(1200))
	return b
}

func (b tab) do(what string, actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// is checks what a script returns.
func (b tab) is(what, script, want string) {
	b.Helper()
	var got string
	b.do(what, chromedp.Evaluate("String("+script+")", &got))
	if got != want {
		b.Errorf("%s: %s, want %s", what, got, want)
	}
}

// shows waits for an element, also of a page that is on its way, whose text must hold another.
func (b tab) shows(element, want string) {
	b.Helper()
	script := fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e && e.checkVisibility() ? e.innerText : ""; })()`, element)
	var text string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if chromedp.Run(b.ctx, chromedp.Evaluate(script, &text)) == nil && strings.Contains(text, want) {
			return
		}
	}
	b.Fatalf("%s lacks %q: %s", element, want, text)
}

// press clicks an element as a mouse does, also one that the window does not show.
func (b tab) press(what, element string) {
	b.Helper()
	b.do(what, chromedp.Evaluate(element+`.dispatchEvent(new MouseEvent("click", {bubbles: true}))`, nil))
}

func (b tab) escape() {
	b.Helper()
	b.do("Escape", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#object", chromedp.ByQuery))
}

// choose makes a pod of the map an end of a path.
func (b tab) choose(end, pod string) {
	b.Helper()
	b.press("a workload", box(path.Base(pod)))
	b.shows("#object", "port "+pod)
	b.press("an end", fmt.Sprintf(`[...document.querySelectorAll("#object .end")].find((e) => e.textContent === "trace %s here")`, end))
}

func (b tab) width(pixels int64) chromedp.Action { return chromedp.EmulateViewport(pixels, 900) }

func (b tab) prefers(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// box is the box of the map that has a text.
func box(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("[data-object]")].find((g) => g.textContent.includes(%q))`, text)
}

// pictures are what pages must look like, as people have looked at them; -update writes them.
const pictures = "../../docs/pictures"

// Of a picture's pixels, so many may be drawn otherwise: fonts and browsers change a little.
const mayDiffer = 0.02

// looks compares the page, or an element of it, with a picture.
func (b tab) looks(name, element string) {
	b.Helper()
	var shot []byte
	action := chromedp.FullScreenshot(&shot, 100)
	if element != "" {
		action = chromedp.Screenshot(element, &shot, chromedp.ByQuery)
	}
	b.do("a picture", action)
	file := filepath.Join(pictures, name+".png")
	if *update {
		if err := os.WriteFile(file, shot, 0o644); err != nil {
			b.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	if share := different(b.T, shot, golden); share > mayDiffer {
		got := filepath.Join(b.ArtifactDir(), name+".png")
		_ = os.WriteFile(got, shot, 0o644)
		b.Errorf("%s: %.1f %% of the pixels differ; %s has it as it is, -update keeps it", file, 100*share, got)
	}
}

// different returns the share of pixels that are clearly different in two pictures; all if their sizes are.
func different(t *testing.T, a, b []byte) float64 {
	t.Helper()
	var both [2]image.Image
	for i, data := range [][]byte{a, b} {
		decoded, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		both[i] = decoded
	}
	size, other := both[0].Bounds(), both[1].Bounds()
	const close = 24 // pixels
	if dx, dy := size.Dx()-other.Dx(), size.Dy()-other.Dy(); dx*dx+dy*dy > close*close {
		return 1
	}
	size = size.Intersect(other)
	n := 0
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			r, g, b, _ := both[0].At(x, y).RGBA()
			r2, g2, b2, _ := both[1].At(x, y).RGBA()
			if far(r, r2) || far(g, g2) || far(b, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(size.Dx()*size.Dy())
}

func far(a, b uint32) bool { return max(a, b)-min(a, b) > 0x3000 }

// accessible checks the page with axe-core: it must find nothing serious.
func (b tab) accessible(what string) {
	b.Helper()
	var found string
	script := axe(b.T) + `;axe.run({preload: false}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").
		map((v) => v.id + ": " + v.nodes.slice(0, 5).map((n) => n.html.slice(0, 200) + " " + n.any.map((a) => a.message).join("; ")).join("\n  ")).join("\n"))`
	b.do(what, chromedp.Evaluate(script, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if found != "" {
		b.Errorf("%s: axe-core finds\n%s", what, found)
	}
}

// The version of axe-core, Deque's rules of accessibility, and what its package is.
const (
	axeVersion = "axe-core-4.10.3"
	axeSum     = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"
)

// axe returns the script of axe-core, which npm fetches once.
var axe = func() func(*testing.T) string {
	var once sync.Once
	var script []byte
	var err error
	return func(t *testing.T) string {
		t.Helper()
		if once.Do(func() { script, err = fetchAxe(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		return string(script)
	}
}()

func fetchAxe(ctx context.Context) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "ovnctl")
	file := filepath.Join(dir, axeVersion+".tgz")
	if _, err := os.Stat(file); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		name, version := axeVersion[:strings.LastIndex(axeVersion, "-")], axeVersion[strings.LastIndex(axeVersion, "-")+1:]
		cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, name+"@"+version)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm pack: %w: %s", err, out)
		}
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != axeSum {
		_ = os.Remove(file)
		return nil, fmt.Errorf("%s is not what it was", file)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		head, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("axe.min.js: %w", err)
		}
		if head.Name == "package/axe.min.js" {
			return io.ReadAll(files)
		}
	}
}

// writeReport writes a report into a file.
func writeReport(t *testing.T, code int, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.html")
	var out, errs bytes.Buffer
	if got := run(t.Context(), append([]string{"report", file}, args...), strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("exit code %d: %s", got, errs.String())
	}
	return file
}

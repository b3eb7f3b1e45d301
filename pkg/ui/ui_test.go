package ui

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// answers say what they were asked.
type answers struct {
	wait chan struct{} // nil: they do not wait
}

func (a answers) Page(_ context.Context, at string) (*page.Page, error) {
	if at == "broken" {
		return nil, errors.New("the database is gone")
	}
	return &page.Page{Title: "at " + at, Live: &page.Live{At: at}}, nil
}

func (a answers) Path(ctx context.Context, at, from, to, protocol string) (page.Path, error) {
	if from == "nobody" {
		return page.Path{}, Question{errors.New("nobody is called <nobody>")}
	}
	if a.wait != nil {
		select {
		case <-a.wait:
		case <-ctx.Done():
		}
	}
	return page.Path{Title: strings.Join([]string{at, from, to, protocol}, " "), Picture: picture.Topology(&topology.Topology{})}, nil
}

func (answers) Reach(_ context.Context, _, _ string) (*picture.Picture, error) {
	return picture.Topology(&topology.Topology{}), nil
}

func (answers) Names(_ context.Context, _, word string) ([]string, error) {
	return []string{word + "-1"}, nil
}

const token = "EXAMPLE"

func ask(h http.Handler, method, target, host, cookie string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// Only who has the token is answered, under a name of loopback, and nothing but questions is taken.
func TestGuard(t *testing.T) {
	const address = "127.0.0.1:9477"
	h := Handler(answers{}, token, address)
	login := ask(h, "GET", "/?token="+token+"&at=09:12", address, "")
	if login.StatusCode != http.StatusSeeOther || login.Header.Get("Location") != "/?at=09%3A12" || len(login.Cookies()) != 1 {
		t.Fatalf("%d to %s", login.StatusCode, login.Header.Get("Location"))
	}
	c := login.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		t.Errorf("cookie %v", c)
	}
	cookie := c.Name + "=" + c.Value
	for _, test := range []struct {
		method, target, host, cookie string
		status                       int
		body                         string
	}{
		{"GET", "/", address, cookie, http.StatusOK, "<title>at </title>"},
		{"GET", "/?at=09:12", "localhost:9477", cookie, http.StatusOK, "<title>at 09:12</title>"},
		{"GET", "/", "[::1]:9477", cookie, http.StatusOK, "</html>"},
		{"GET", "/path?from=a&to=b&protocol=tcp/80&at=x", address, cookie, http.StatusOK, "x a b tcp/80"},
		{"GET", "/names?word=web", address, cookie, http.StatusOK, `["web-1"]`},
		{"GET", "/reach", address, cookie, http.StatusOK, "<svg"},
		{"GET", "/path?from=nobody", address, cookie, http.StatusOK, "nobody is called <nobody>"},
		{"GET", "/?at=broken", address, cookie, http.StatusInternalServerError, "the database is gone"},

		{"GET", "/", address, "", http.StatusForbidden, "has the token"},
		{"GET", "/", address, c.Name + "=EXAMPLF", http.StatusForbidden, "has the token"},
		{"GET", "/?token=" + token + "x", address, "", http.StatusForbidden, "has the token"},
		{"GET", "/path?token=" + token, address, "", http.StatusForbidden, "has the token"},
		{"GET", "/?token=" + token, "evil.example", "", http.StatusForbidden, "own address"},
		{"GET", "/", "evil.example:9477", cookie, http.StatusForbidden, "own address"},
		{"GET", "/", "192.0.2.1:9477", cookie, http.StatusForbidden, "own address"},
		{"POST", "/", address, cookie, http.StatusMethodNotAllowed, ""},
		{"GET", "/etc/passwd", address, cookie, http.StatusNotFound, ""},
		{"GET", "/path?from=" + strings.Repeat("a", longest+1), address, cookie, http.StatusBadRequest, "longer than"},
	} {
		r := ask(h, test.method, test.target, test.host, test.cookie)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != test.status || !strings.Contains(string(body), test.body) {
			t.Errorf("%s %s at %s: %d, want %d with %q: %.300s", test.method, test.target, test.host, r.StatusCode, test.status, test.body, body)
		}
		for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if !strings.Contains(r.Header.Get(name), want) {
				t.Errorf("%s: %s %q", test.target, name, r.Header.Get(name))
			}
		}
		if kind := r.Header.Get("Content-Type"); strings.Contains(string(body), "<nobody>") && kind != words {
			t.Errorf("%s: what is wrong is %s", test.target, kind)
		}
	}
}

// Questions beyond those that are answered side by side wait, and leave when who asked has gone; the end of the context ends all.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // ends at once
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, answers{wait: make(chan struct{})}, token) }()
	login, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/?token="+token, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Do(login)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	path := func(wait time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/path", nil)
		if err != nil {
			return err
		}
		q.AddCookie(r.Cookies()[0])
		r, err := client.Do(q)
		if err == nil {
			_ = r.Body.Close()
		}
		return err
	}
	gone := make(chan error, 5)
	for range cap(gone) {
		go func() { gone <- path(100 * time.Millisecond) }()
	}
	for range cap(gone) {
		if err := <-gone; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question that nobody waits for: %v", err)
		}
	}
	go func() { gone <- path(time.Minute) }()
	time.Sleep(50 * time.Millisecond)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-gone //nolint:errcheck // whether with an answer or without
}

// Package ui serves the page of a report to one person on the same machine, with answers to what the page asks.
//
// Who may read it has the token: it comes once in the address, as with Jupyter, and is a cookie from then on. Only
// loopback is served, under its own names, so that no other site's name can stand for it (DNS rebinding). Nothing is changed by any
// request.
package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
)

// Answers are what the page can ask. At names a moment of a record; empty means now, or the end of the record.
type Answers interface {
	Page(ctx context.Context, at string) (*page.Page, error)
	// Path follows a packet; protocol is icmp, tcp/PORT or udp/PORT, or empty.
	Path(ctx context.Context, at, from, to, protocol string) (page.Path, error)
	Reach(ctx context.Context, at, protocol string) (*picture.Picture, error)
	// Names returns ends of a path that begin with a word.
	Names(ctx context.Context, at, word string) ([]string, error)
}

// A Question is an error of who asked, not of what answers.
type Question struct{ Err error }

func (q Question) Error() string { return q.Err.Error() }

// Unwrap returns the error.
func (q Question) Unwrap() error { return q.Err }

// NewToken returns a token that cannot be guessed.
func NewToken() string { return rand.Text() }

const (
	// side is how many questions are answered side by side: each may read all nodes.
	side = 2
	// longest is how long an argument of a question may be, in bytes.
	longest = 1000
	// slow is how long a client may take for its request.
	slow = 10 * time.Second
)

// Serve serves until the context ends.
func Serve(ctx context.Context, l net.Listener, a Answers, token string) error {
	server := &http.Server{
		Handler: Handler(a, token, l.Addr().String()), ReadHeaderTimeout: slow, ReadTimeout: slow, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = server.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns what serves at an address, HOST:PORT.
func Handler(a Answers, token, address string) http.Handler {
	s := &server{answers: a, token: token, turns: make(chan struct{}, side)}
	sum := sha256.Sum256([]byte(address))
	s.cookie = "ovnctl-" + hex.EncodeToString(sum[:4]) // ports share their cookies
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /path", s.path)
	mux.HandleFunc("GET /reach", s.reach)
	mux.HandleFunc("GET /names", s.names)
	return s.guard(mux)
}

type server struct {
	answers Answers
	token   string
	cookie  string
	turns   chan struct{}
}

// guard lets through who has the token.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !loopback(r.Host) {
			http.Error(w, "ovnctl ui is asked by its own address alone", http.StatusForbidden)
			return
		}
		if token := r.URL.Query().Get("token"); r.URL.Path == "/" && s.is(token) {
			http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			rest := r.URL.Query()
			rest.Del("token")
			http.Redirect(w, r, "/?"+rest.Encode(), http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(s.cookie); err != nil || !s.is(c.Value) {
			http.Error(w, "open the address that ovnctl ui printed: it has the token", http.StatusForbidden)
			return
		}
		for _, values := range r.URL.Query() {
			for _, v := range values {
				if len(v) > longest {
					http.Error(w, fmt.Sprintf("an argument is longer than %d characters", longest), http.StatusBadRequest)
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) is(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// turn waits until a question is answered, unless who asked has gone: then it returns false.
func (s *server) turn(ctx context.Context) bool {
	select {
	case s.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// words is the type of a reply that says what is wrong. That of a question is none of HTTP's errors, about which browsers complain.
const words = "text/plain; charset=utf-8"

// answer replies with what write writes.
func (s *server) answer(w http.ResponseWriter, r *http.Request, kind string, write func(io.Writer) error) {
	if !s.turn(r.Context()) {
		return
	}
	defer func() { <-s.turns }()
	var reply bytes.Buffer // whole or an error
	if err := write(&reply); err != nil {
		w.Header().Set("Content-Type", words)
		if _, ok := errors.AsType[Question](err); !ok {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, err.Error())
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(reply.Bytes()) // who asked may have gone
}

func (s *server) page(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "text/html", func(out io.Writer) error {
		p, err := s.answers.Page(r.Context(), r.FormValue("at"))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Security-Policy", p.Policy()+"; frame-ancestors 'none'")
		return p.Write(out)
	})
}

func (s *server) path(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "text/html", func(out io.Writer) error {
		p, err := s.answers.Path(r.Context(), r.FormValue("at"), r.FormValue("from"), r.FormValue("to"), r.FormValue("protocol"))
		if err != nil {
			return err
		}
		return p.Fragment(out)
	})
}

func (s *server) reach(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "text/html", func(out io.Writer) error {
		m, err := s.answers.Reach(r.Context(), r.FormValue("at"), r.FormValue("protocol"))
		if err != nil {
			return err
		}
		return page.Matrix(out, m)
	})
}

func (s *server) names(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "application/json", func(out io.Writer) error {
		names, err := s.answers.Names(r.Context(), r.FormValue("at"), r.FormValue("word"))
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(names)
	})
}

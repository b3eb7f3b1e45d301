// Command kubelet serves the API that kube-apiserver passes pods/exec on to, with virtual-kubelet's handlers: HTTPS, and only for the
// client certificates of one authority, if one is named. A command of a pod is run by a program that gets the pod's name and the command.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	utilexec "k8s.io/utils/exec"
)

func main() {
	listen := flag.String("listen", "", "`address` to listen on")
	certificate, key := flag.String("certificate", "", "certificate `file`"), flag.String("key", "", "private key `file`")
	authority := flag.String("authority", "", "certificate `file` of the authority of clients; empty: anybody is one")
	enter := flag.String("enter", "", "`program` that runs a command of a pod")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "kubelet:", serve(*listen, *certificate, *key, *authority, *enter))
	os.Exit(1)
}

func serve(listen, certificate, key, authority, enter string) error {
	security := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		pem, err := os.ReadFile(authority)
		if err != nil {
			return err
		}
		security.ClientCAs, security.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !security.ClientCAs.AppendCertsFromPEM(pem) {
			return errors.New("no certificate in " + authority)
		}
	}
	none := func(context.Context) ([]*corev1.Pod, error) { return nil, nil }
	server := &http.Server{
		Addr:      listen,
		TLSConfig: security,
		Handler: api.PodHandler(api.PodHandlerConfig{
			RunInContainer: func(ctx context.Context, _, pod, container string, command []string, streams api.AttachIO) error {
				return run(exec.CommandContext(ctx, enter, append([]string{pod, container}, command...)...), streams)
			},
			GetPods:           none,
			StreamIdleTimeout: time.Hour, StreamCreationTimeout: time.Minute,
		}, false),
		ReadHeaderTimeout: time.Minute,
	}
	return server.ListenAndServeTLS(certificate, key)
}

// run runs a command joined to streams. Its exit status is the error's.
func run(cmd *exec.Cmd, streams api.AttachIO) error {
	cmd.Stdout, cmd.Stderr = streams.Stdout(), streams.Stderr()
	cmd.WaitDelay = time.Second
	var in io.WriteCloser
	if streams.Stdin() != nil {
		var err error
		if in, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if in != nil {
		go func() {
			_, _ = io.Copy(in, streams.Stdin())
			in.Close()
		}()
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

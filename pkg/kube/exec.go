package kube

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	//lint:ignore SA1019 an Upgrader of client-go returns its connection
	apistream "k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // the same
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// enter starts sh in a pod.
func (k *Cluster) enter(p pod) node.Entry {
	return func(stdin, stdout *os.File, stderr io.Writer) (node.Session, error) {
		executor, err := k.executor(p)
		if err != nil {
			return node.Session{}, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr})
			stdin.Close()
			stdout.Close()
			ended <- k.explain(err, rule{"pods/exec", []string{"create", "get"}})
		}()
		return node.Session{Wait: func() error { return <-ended }, Kill: cancel}, nil
	}
}

// executor carries sh by WebSocket, or by SPDY if the server or a proxy on the way is too old for that.
func (k *Cluster) executor(p pod) (remotecommand.Executor, error) {
	request := k.client.Post().Resource("pods").Namespace(p.Metadata.Namespace).Name(p.Metadata.Name).SubResource("exec").
		Param("container", p.container()).Param("command", "sh").
		Param("stdin", "true").Param("stdout", "true").Param("stderr", "true")
	config := rest.CopyConfig(k.config)
	config.Timeout = 0 // of a whole session
	socket, err := remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String())
	if err != nil {
		return nil, err
	}
	transport, upgrade, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old, err := remotecommand.NewSPDYExecutorForTransports(transport, upgrader{upgrade}, "POST", request.URL())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// An upgrader keeps the reason of a refusal, which client-go's would make a text.
type upgrader struct{ spdy.Upgrader }

func (u upgrader) NewConnection(answer *http.Response) (apistream.Connection, error) {
	if answer.StatusCode != http.StatusForbidden {
		return u.Upgrader.NewConnection(answer)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: answer.Status}}
	if text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10)); err == nil {
		_ = json.Unmarshal(text, &refusal.ErrStatus) // a proxy on the way may say something else
	}
	return nil, refusal
}

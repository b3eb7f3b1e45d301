// Package kubernetes runs the API server of Kubernetes, with etcd and a kubelet, in the fabric of a lab. What is run in its pods is
// run on the lab's hosts.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// Fabric is the lab's host from which the API server is reached. It runs no Open vSwitch: to a client it is a laptop.
const Fabric = "fab"

const (
	serverAddress  = "127.0.0.1:6443"
	kubeletAddress = "127.0.0.1:10250"
	etcdURL        = "http://127.0.0.1:2379"
)

// A Pod is a pod of the cluster: not a process, but where commands of it run.
type Pod struct {
	Namespace, Name string
	App             string   // its label "app"
	Containers      []string // names
	Node            string   // of the cluster
	Host            string   // of the lab, on which its commands run
}

// A Cluster is a running API server.
type Cluster struct {
	lab    *lab.Lab
	dir    string
	client *http.Client
}

// users have tokens that are their names: only admin may do anything.
var users = []string{"admin", "reader", "lister", "local", "nobody"}

// Start starts an API server with these pods, and a node for each that they name. It ends with the test. More flags are the server's.
func Start(tb testing.TB, l *lab.Lab, pods []Pod, more ...string) *Cluster {
	tb.Helper()
	programs, err := build(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{lab: l, dir: tb.TempDir()}
	authority := c.keys(tb)
	c.write(tb, "tokens.csv", "admin,admin,admin,system:masters\nreader,reader,reader\nlister,lister,lister\nlocal,local,local\nnobody,nobody,nobody\n")
	for _, user := range users {
		c.writeKubeconfig(tb, user, user)
	}
	c.write(tb, "enter", c.enterScript(pods))
	c.start(tb, "etcd", "--data-dir", c.path("etcd"), "--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", "http://127.0.0.1:2380", "--unsafe-no-fsync")
	c.start(tb, filepath.Join(programs, "kubelet"), "-listen", kubeletAddress, "-certificate", c.path("server.crt"), "-key", c.path("server.key"),
		"-authority", c.path("ca.crt"), "-enter", c.path("enter"))
	c.start(tb, filepath.Join(programs, "kube-apiserver"), append(more, "--etcd-servers="+etcdURL, "--secure-port=6443", "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", "--service-cluster-ip-range=10.97.0.0/16", "--cert-dir="+c.dir,
		"--tls-cert-file="+c.path("server.crt"), "--tls-private-key-file="+c.path("server.key"), "--token-auth-file="+c.path("tokens.csv"),
		"--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.path("server.key"), "--service-account-signing-key-file="+c.path("server.key"),
		"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", "--allow-privileged=true",
		"--kubelet-client-certificate="+c.path("client.crt"), "--kubelet-client-key="+c.path("client.key"), "--kubelet-certificate-authority="+c.path("ca.crt"))...)
	c.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			err = l.InNamespace(Fabric, func() error {
				conn, err = net.Dial(network, address)
				return err
			})
			return conn, err
		},
		TLSClientConfig: &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12},
	}}
	c.await(tb)
	c.populate(tb, pods)
	return c
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(c.path(name), []byte(text), 0o700); err != nil {
		tb.Fatal(err)
	}
}

func (c *Cluster) writeKubeconfig(tb testing.TB, user, token string) {
	tb.Helper()
	c.write(tb, user+".kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://%s", certificate-authority: %s}}]
users: [{name: %s, user: {token: %s}}]
contexts: [{name: lab, context: {cluster: lab, user: %[3]s}}]
current-context: lab
`, serverAddress, c.path("ca.crt"), user, token))
}

// ServiceAccount returns the file of a service account.
func (c *Cluster) ServiceAccount(tb testing.TB, namespace, name string) string {
	tb.Helper()
	said, err := c.do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name+"/token",
		object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{"audiences": []string{}}})
	if err != nil {
		tb.Fatal(err)
	}
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(said, &request); err != nil || request.Status.Token == "" {
		tb.Fatalf("no token of %s: %v: %s", name, err, said)
	}
	c.writeKubeconfig(tb, namespace+"."+name, request.Status.Token)
	return c.Kubeconfig(namespace + "." + name)
}

// Kubeconfig returns the file of a user.
func (c *Cluster) Kubeconfig(user string) string { return c.path(user + ".kubeconfig") }

// enterScript runs a command of a pod on a host of the lab: it is called with the pod's name and the container's.
func (c *Cluster) enterScript(pods []Pod) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncase $1 in\n")
	for _, p := range pods {
		fmt.Fprintf(&b, "%s) host=%s ;;\n", p.Name, p.Host)
	}
	fmt.Fprintf(&b, "*) exit 1 ;;\nesac\nshift 2\nexec %s/enter $host \"$@\"\n", c.lab.Dir)
	return b.String()
}

// start starts a program in the fabric's network.
func (c *Cluster) start(tb testing.TB, program string, args ...string) {
	tb.Helper()
	name := filepath.Base(program)
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	cmd := c.lab.Program(context.Background(), Fabric, append([]string{program}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if tb.Failed() {
			text, _ := os.ReadFile(c.path(name + ".log"))
			tb.Logf("%s: %s", name, text[max(0, len(text)-2000):])
		}
	})
}

// await waits until the API server is ready.
func (c *Cluster) await(tb testing.TB) {
	tb.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		_, err := c.do(http.MethodGet, "/readyz", nil)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the API server is not ready: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// An object is one of the API's, or a part of it.
type object = map[string]any

// populate makes nodes and running pods.
func (c *Cluster) populate(tb testing.TB, pods []Pod) {
	tb.Helper()
	made := map[string]bool{"/api/v1/namespaces/kube-system": true, "/api/v1/namespaces/default": true}
	once := func(path, name string, o object) {
		if !made[path+"/"+name] {
			made[path+"/"+name] = true
			o["metadata"] = object{"name": name}
			c.Create(tb, path, o)
		}
	}
	for _, p := range pods {
		once("/api/v1/namespaces", p.Namespace, object{})
		once("/api/v1/nodes", p.Node, object{"status": object{
			"addresses":       []object{{"type": "InternalIP", "address": "127.0.0.1"}},
			"daemonEndpoints": object{"kubeletEndpoint": object{"Port": 10250}},
		}})
		var containers []object
		for _, name := range p.Containers {
			containers = append(containers, object{"name": name, "image": name})
		}
		path := "/api/v1/namespaces/" + p.Namespace + "/pods"
		o := object{
			"metadata": object{"name": p.Name, "labels": object{"app": p.App}},
			"spec":     object{"nodeName": p.Node, "hostNetwork": true, "containers": containers},
		}
		c.Create(tb, path, o)
		o["status"] = object{"phase": "Running"}
		if _, err := c.do(http.MethodPut, path+"/"+p.Name+"/status", o); err != nil {
			tb.Fatal(err)
		}
	}
}

// Create makes an object in the collection at a path of the API.
func (c *Cluster) Create(tb testing.TB, path string, o any) {
	tb.Helper()
	if _, err := c.do(http.MethodPost, path, o); err != nil {
		tb.Fatal(err)
	}
}

// do returns the beginning of what the API server says.
func (c *Cluster) do(method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, "https://"+serverAddress+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer admin")
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, said)
	}
	return said, nil
}

// keys makes an authority, and what it signs: the servers' certificate, and that by which the API server is known to kubelets.
func (c *Cluster) keys(tb testing.TB) *x509.CertPool {
	tb.Helper()
	script := `set -e
cd "$1"
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority
for name in server client; do
	openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
	echo subjectAltName=IP:127.0.0.1 >$name.ext
	openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out $name.crt -extfile $name.ext
done`
	if out, err := exec.Command("sh", "-c", script, "sh", c.dir).CombinedOutput(); err != nil {
		tb.Fatalf("openssl: %v: %s", err, out)
	}
	pem, err := os.ReadFile(c.path("ca.crt"))
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool
}

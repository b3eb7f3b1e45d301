package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Config says which cluster, as kubectl's flags do. The zero Config is the current context of $KUBECONFIG or ~/.kube/config, or the
// cluster that this runs in.
type Config struct {
	Kubeconfig string // a file
	Context    string
	Timeout    time.Duration // of a request; 0: none
}

// A Cluster is a way to the nodes of a Kubernetes cluster. Its methods may be called concurrently.
type Cluster struct {
	config    *rest.Config
	client    *rest.RESTClient
	name      string // of the context
	namespace string // of the context

	once   sync.Once
	listed []pod
	err    error
}

// Open reads the configuration. It asks nothing of the cluster.
func Open(c Config) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no kubeconfig\nhint: give --kubeconfig, or set KUBECONFIG; --via and --node-exec reach nodes without Kubernetes")
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	klog.SetLogger(logr.Discard()) // it would write to standard error that a connection was closed
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server has limits of its own
	config.Timeout = c.Timeout
	config.WarningHandler = rest.NoWarnings{}
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, *config.GroupVersion) // a Status is all that is decoded by its kind
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	k := &Cluster{config: config, client: client, name: c.Context}
	if raw, err := loader.RawConfig(); err == nil {
		k.name = cmp.Or(k.name, raw.CurrentContext)
	}
	k.namespace, _, _ = loader.Namespace()
	return k, nil
}

// Namespace returns the namespace of the context.
func (k *Cluster) Namespace() string { return k.namespace }

// A pod is what runs a node's part of the network, or databases.
type pod struct {
	Metadata struct {
		Name              string
		Namespace         string
		Labels            map[string]string
		DeletionTimestamp *string
	}
	Spec struct {
		NodeName   string
		Containers []struct{ Name string }
	}
	Status struct{ Phase string }
}

// An application is a kind of pod that can be entered, by the value of its label "app".
type application struct {
	label      string
	central    bool     // it runs databases for many nodes
	containers []string // that see what is needed, the best first
}

// applications are those of ovn-kubernetes, upstream and in OpenShift, and of Kube-OVN. In ovnkube-controller is what also the others
// see, and the pods' network namespaces.
var applications = []application{
	{"ovnkube-node", false, []string{"ovnkube-controller", "ovnkube-node", "ovn-controller"}},
	{"ovs", false, []string{"openvswitch"}},
	{"ovn-central", true, []string{"ovn-central"}},
	{"ovnkube-db", true, []string{"nb-ovsdb"}},
	{"ovnkube-master", true, []string{"nbdb", "nb-ovsdb"}},
}

// namespaces are where the applications usually are: who may not list the pods of all namespaces may list those of one.
var namespaces = []string{"ovn-kubernetes", "openshift-ovn-kubernetes", "kube-system"}

// errNone means that the cluster's network is neither.
var errNone = errors.New("no pod of ovn-kubernetes or Kube-OVN runs in this cluster")

// pods lists the pods that can be entered, once.
func (k *Cluster) pods(ctx context.Context) ([]pod, error) {
	k.once.Do(func() { k.listed, k.err = k.find(ctx) })
	return k.listed, k.err
}

func (k *Cluster) find(ctx context.Context) ([]pod, error) {
	all, err := k.list(ctx, "")
	if apierrors.IsForbidden(err) {
		for _, namespace := range namespaces {
			some, one := k.list(ctx, namespace)
			if one == nil {
				all, err = append(all, some...), nil
			}
		}
	}
	if err != nil {
		return nil, k.explain(err, rule{"pods", []string{"list"}})
	}
	running := slices.DeleteFunc(all, func(p pod) bool {
		return p.Status.Phase != "Running" || p.Metadata.DeletionTimestamp != nil || p.container() == ""
	})
	if len(running) == 0 {
		return nil, k.explain(errNone, rule{})
	}
	return running, nil
}

// list lists the applications' pods in a namespace, or in all if it is empty.
func (k *Cluster) list(ctx context.Context, namespace string) ([]pod, error) {
	selector := "app in ("
	for i, a := range applications {
		if i > 0 {
			selector += ","
		}
		selector += a.label
	}
	selector += ")"
	var all []pod
	for next := ""; ; {
		answer := k.client.Get().Resource("pods").Namespace(namespace).
			Param("labelSelector", selector).Param("limit", "500").Param("continue", next).Do(ctx)
		if err := answer.Error(); err != nil { // Raw would not read the reason
			return nil, err
		}
		raw, err := answer.Raw()
		if err != nil {
			return nil, err
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []pod
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("cannot read the list of pods: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return all, nil
		}
	}
}

// application is what runs in a pod.
func (p *pod) application() *application {
	for i, a := range applications {
		if a.label == p.Metadata.Labels["app"] {
			return &applications[i]
		}
	}
	return nil
}

// container is the container to enter; empty if there is none.
func (p *pod) container() string {
	a := p.application()
	if a == nil {
		return ""
	}
	for _, name := range a.containers {
		for _, c := range p.Spec.Containers {
			if c.Name == name {
				return name
			}
		}
	}
	return ""
}

// Nodes lists the nodes that have a pod of ovn-kubernetes or Kube-OVN.
func (k *Cluster) Nodes(ctx context.Context) ([]string, error) {
	pods, err := k.pods(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range pods {
		if !p.application().central {
			names = append(names, p.Spec.NodeName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Centrals lists the pods with databases that serve many nodes; empty where each node has its own.
func (k *Cluster) Centrals(ctx context.Context, timeout time.Duration) ([]node.Host, error) {
	pods, err := k.pods(ctx)
	if err != nil {
		return nil, err
	}
	var hosts []node.Host
	for _, p := range pods {
		if !p.application().central {
			continue
		}
		h, err := k.host(p.Metadata.Name, p, timeout)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// Host returns the node with a hostname, by the pod that runs there.
func (k *Cluster) Host(name, hostname string, timeout time.Duration) (node.Host, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	pods, err := k.pods(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pods {
		if !p.application().central && p.Spec.NodeName == hostname {
			return k.host(name, p, timeout)
		}
	}
	return nil, fmt.Errorf("node %s: no pod of ovn-kubernetes or Kube-OVN runs there", name)
}

func (k *Cluster) host(name string, p pod, timeout time.Duration) (node.Host, error) {
	return node.Remote(node.RemoteConfig{
		Name: name, Hostname: cmp.Or(p.Spec.NodeName, p.Metadata.Name), InPod: true, Timeout: timeout,
		Enter: k.enter(p), From: "pod " + p.Metadata.Namespace + "/" + p.Metadata.Name,
	})
}

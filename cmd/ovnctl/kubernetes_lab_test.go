//go:build lab && kubernetes

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/kubernetes"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// ovnKubernetesPods are the pods of ovn-kubernetes with a zone per node, as upstream's charts name them.
func ovnKubernetesPods(l *lab.Lab, namespace string) []kubernetes.Pod {
	var pods []kubernetes.Pod
	for _, n := range l.Topology.Nodes {
		pods = append(pods, kubernetes.Pod{
			Namespace: namespace, Name: "ovnkube-node-" + n.Name, App: "ovnkube-node", Node: n.Name, Host: n.Name,
			Containers: []string{"nb-ovsdb", "sb-ovsdb", "ovn-northd", "ovnkube-controller", "ovn-controller"},
		})
	}
	return pods
}

// A laptop has nothing but a kubeconfig: the API server of the cluster passes all on to kubelets. What it says is what a node says.
func TestKubernetesZones(t *testing.T) {
	l := labtest.Own(t, lab.Interconnect(), lab.Options{})
	k := kubernetes.Start(t, l, ovnKubernetesPods(l, "ovn-kubernetes"))
	n := &onNode{lab: l, node: kubernetes.Fabric}
	args := []string{"--kubeconfig", k.Kubeconfig("admin"), "-t", "20"}
	for _, to := range []string{"shop/web-1", "shop/web-2", "shop/web-3"} {
		for _, port := range []int{8080, 9090} {
			zonesTrace(t, n, to, port, args)
		}
	}
	healthyZones(t, n, args...)
	var doc topology.Document
	zonesDocument(t, n.ovnctl(t, append([]string{"topology", "show", "-o", "json"}, args...)...), &doc)
	if len(doc.Nodes) != 3 || len(doc.Notes) > 0 {
		t.Errorf("%d nodes, notes %q", len(doc.Nodes), doc.Notes)
	}
	local := &onNode{lab: l, node: "node1"}
	var report doctor.Document
	zonesDocument(t, local.ovnctl(t, "doctor", "--all-nodes", "-o", "json", "--node-exec", l.Dir+"/enter {hostname}"), &report)
	var far doctor.Document
	zonesDocument(t, n.ovnctl(t, append([]string{"doctor", "-o", "json"}, args...)...), &far)
	if len(far.Findings) != len(report.Findings) {
		t.Errorf("%d findings from a laptop, %d on a node", len(far.Findings), len(report.Findings))
	}
	kubernetesVersions(t, n, args, 3)
	offered := n.ovnctl(t, append(append([]string{"__complete", "trace"}, args...), "shop/client", "shop/w")...)
	if got := string(offered.stdout); !strings.Contains(got, "shop/web-1") || strings.Contains(got, "bank/") {
		t.Errorf("completion offers:\n%s%s", got, offered.stderr)
	}
	kubernetesRights(t, n, k)
	kubernetesManifests(t, n, k)
}

// The manifests are accepted, and their account may do what the job does.
func kubernetesManifests(t *testing.T, n *onNode, k *kubernetes.Cluster) {
	t.Helper()
	for _, name := range []string{"rbac", "cronjob", "daemonset"} {
		cmd := n.lab.Program(t.Context(), n.node, "kubectl", "--kubeconfig", k.Kubeconfig("admin"), "create", "-f", "../../packaging/kubernetes/"+name+".yaml")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	account := k.ServiceAccount(t, "ovnctl", "ovnctl")
	healthyZones(t, n, "--all-nodes", "--kubeconfig", account, "-t", "20")
}

// kubernetesVersions holds that all nodes are read, each in its pod.
func kubernetesVersions(t *testing.T, n *onNode, args []string, nodes int) {
	t.Helper()
	got := n.ovnctl(t, append([]string{"version", "--cluster", "-o", "json"}, args...)...)
	var doc versionDocument
	if err := json.Unmarshal(got.stdout, &doc); err != nil || got.code != exitOK || len(doc.Nodes) != nodes {
		t.Errorf("version --cluster: exit %d, %v, %d nodes: %s", got.code, err, len(doc.Nodes), got.stderr)
	}
	for _, v := range doc.Nodes {
		if !strings.HasPrefix(v.From, "pod ") || len(v.Daemons) < 3 {
			t.Errorf("%s: %+v", v.Node, v)
		}
	}
}

// Who may not do what ovnctl needs is told which rule is missing, and gets exit status 3.
func kubernetesRights(t *testing.T, n *onNode, k *kubernetes.Cluster) {
	t.Helper()
	const roles = "/apis/rbac.authorization.k8s.io/v1/"
	type object = map[string]any
	grant := func(user, namespace string, rules ...object) {
		t.Helper()
		where, kind := roles, "ClusterRole"
		if namespace != "" {
			where, kind = roles+"namespaces/"+namespace+"/", "Role"
		}
		k.Create(t, where+strings.ToLower(kind)+"s", object{"metadata": object{"name": user}, "rules": rules})
		k.Create(t, where+strings.ToLower(kind)+"bindings", object{
			"metadata": object{"name": user},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user},
			"subjects": []object{{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}},
		})
	}
	rule := func(resource string, verbs ...string) object {
		return object{"apiGroups": []string{""}, "resources": []string{resource}, "verbs": verbs}
	}
	list, exec := rule("pods", "list"), rule("pods/exec", "create", "get")
	grant("reader", "", list, exec)
	grant("lister", "", list)
	grant("local", "ovn-kubernetes", list, exec) // of one namespace only
	for _, test := range []struct {
		user  string
		code  int
		wants []string
	}{
		{"reader", exitOK, nil},
		{"local", exitOK, nil},
		{"lister", exitUnknown, []string{`User "lister" cannot`, "resources: [pods/exec], verbs: [create, get]"}},
		{"nobody", exitUnknown, []string{`User "nobody" cannot list resource "pods"`, "resources: [pods], verbs: [list]"}},
	} {
		got := n.ovnctl(t, "get", "switches", "--kubeconfig", k.Kubeconfig(test.user), "-t", "20")
		if got.code != test.code || slices.ContainsFunc(test.wants, func(want string) bool { return !strings.Contains(string(got.stderr), want) }) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.user, got.code, test.code, test.wants, got.stdout, got.stderr)
		}
		if lines := strings.Count(string(got.stderr), "\n"); lines > 8 {
			t.Errorf("%s: %d lines of errors:\n%s", test.user, lines, got.stderr)
		}
	}
}

// In Kube-OVN the databases are in pods of their own, which serve all nodes.
func TestKubernetesKubeOVN(t *testing.T) {
	l := labtest.Own(t, lab.KubeOVN(), lab.Options{})
	pods := []kubernetes.Pod{{
		Namespace: "kube-system", Name: "ovn-central-0", App: "ovn-central", Node: l.Topology.Nodes[0].Name, Host: l.Centrals()[0],
		Containers: []string{"ovn-central"},
	}}
	for _, n := range l.Topology.Nodes {
		pods = append(pods, kubernetes.Pod{
			Namespace: "kube-system", Name: "ovs-ovn-" + n.Name, App: "ovs", Node: n.Name, Host: n.Name, Containers: []string{"openvswitch"},
		})
	}
	// As servers before Kubernetes 1.30, this one passes no WebSocket on to kubelets: SPDY is left.
	k := kubernetes.Start(t, l, pods, "--feature-gates=TranslateStreamCloseWebsocketRequests=false")
	n := &onNode{lab: l, node: kubernetes.Fabric}
	args := []string{"--kubeconfig", k.Kubeconfig("admin"), "-t", "20"}
	kubernetesVersions(t, n, args, len(l.Topology.Nodes))
	local := &onNode{lab: l, node: l.Topology.Nodes[0].Name}
	for _, ask := range [][]string{{"get", "ports", "-o", "name"}, {"get", "interfaces", "-o", "name"}} {
		far, near := n.ovnctl(t, append(ask, args...)...), local.ovnctl(t, append(ask, "--node-exec", l.Dir+"/enter {hostname}")...)
		if far.code != exitOK || string(far.stdout) != string(near.stdout) || len(near.stdout) == 0 {
			t.Errorf("%q: exit %d from a laptop:\n%s%son a node:\n%s", ask, far.code, far.stdout, far.stderr, near.stdout)
		}
	}
	// The same nodes by kubectl itself.
	t.Setenv("KUBECONFIG", k.Kubeconfig("admin"))
	got := n.ovnctl(t, "version", "--cluster", "-o", "json", "--nb", l.NB(), "--sb", l.SB(), "--via", "kubectl", "-t", "20")
	var doc versionDocument
	zonesDocument(t, got, &doc)
	if got.code != exitOK || len(doc.Nodes) != len(l.Topology.Nodes) {
		t.Errorf("--via kubectl: exit %d, %d nodes: %s", got.code, len(doc.Nodes), got.stderr)
	}
	for _, v := range doc.Nodes {
		if v.From != "via kubectl: "+v.Node || len(v.Daemons) < 3 {
			t.Errorf("--via kubectl: %+v", v)
		}
	}
}

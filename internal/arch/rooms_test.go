// Package arch holds the architecture: which packages there are, in which
// order, and what each may import.
//
// Values flow one way: gather, model, answer, render. A package imports only from
// earlier lines of its own group and from the groups above it. A new package is a
// new line here, at the place that says what it may know of.
package arch

// A group is a line of the flow, its rooms in the order in which they may know
// of each other.
type group struct {
	name  string
	rooms []room
}

// A room is a package, or several on one line that do not know of each other.
type room struct {
	paths []string
	rule
}

// A rule narrows what the order allows.
type rule struct {
	stdOnly bool     // the standard library and other stdOnly rooms, nothing else
	never   []string // groups and packages that the order would allow
	mute    []string // names of methods that it must not call
}

// readsOnly holds where plans and findings are made: others carry them out.
var readsOnly = rule{mute: []string{"Transact", "Apply", "Undo"}}

// groups mirrors the folders under pkg/.
var groups = []group{
	{"gather", []room{
		{paths: []string{"pkg/lazy", "pkg/pattern"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/secret"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/escape"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/memory"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/held"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/decompress"}},
		{paths: []string{"pkg/ovsdb"}},
		{paths: []string{"pkg/nb", "pkg/sb"}},
		{paths: []string{"pkg/vswitch"}},
		{paths: []string{"pkg/replica"}, rule: rule{never: []string{"pkg/nb", "pkg/sb", "pkg/vswitch"}}}, // of whatever rows it is asked for
		{paths: []string{"pkg/archive"}, rule: rule{never: []string{"pkg/nb", "pkg/sb", "pkg/vswitch"}}},
		{paths: []string{"pkg/record"}, rule: rule{never: []string{"pkg/nb", "pkg/sb", "pkg/vswitch"}}}, // names and bytes, of whatever rows
		{paths: []string{"pkg/archive/anonymize"}, rule: rule{never: []string{"pkg/nb", "pkg/sb", "pkg/vswitch"}}},
		{paths: []string{"pkg/node"}},
		{paths: []string{"pkg/kube"}},
		{paths: []string{"pkg/cluster"}},
	}},
	{"model", []room{
		{paths: []string{"pkg/document"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/packet"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/release"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/ovnexpr"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/openflow"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/openflow/ofctl"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/envfile"}, rule: rule{stdOnly: true}},
		{paths: []string{"pkg/pcap"}, rule: rule{never: []string{"gather"}}},
		{paths: []string{"pkg/logicalflow"}},
		{paths: []string{"pkg/decode"}, rule: rule{never: []string{"pkg/cluster", "pkg/node"}}},
		{paths: []string{"pkg/desired"}, rule: rule{never: []string{"pkg/cluster", "pkg/node"}}},
		{paths: []string{"pkg/topology"}, rule: rule{never: []string{"pkg/cluster", "pkg/node"}}}, // reads rows, from wherever they are
		{paths: []string{"pkg/decode/text"}},
		{paths: []string{"pkg/snapshot"}},
		{paths: []string{"pkg/facts"}},
	}},
	{"answer", []room{
		{paths: []string{"pkg/journey"}, rule: rule{never: []string{"gather"}}}, // values only
		{paths: []string{"pkg/trace/ovn", "pkg/trace/microflow", "pkg/trace/ovs", "pkg/trace/ovssim"}},
		{paths: []string{"pkg/trace/cause"}},
		{paths: []string{"pkg/trace"}},
		{paths: []string{"pkg/probe"}},
		{paths: []string{"pkg/reach"}},
		{paths: []string{"pkg/inventory"}, rule: rule{never: []string{"gather"}}}, // of a graph, read by others
		{paths: []string{"pkg/flowtable"}, rule: rule{never: []string{"gather"}}}, // of dumps, read by others
		{paths: []string{"pkg/compare"}},
		{paths: []string{"pkg/vitals"}, rule: readsOnly},
		{paths: []string{"pkg/blame"}, rule: rule{never: []string{"gather"}}},                  // of answers, found by others
		{paths: []string{"pkg/watch"}, rule: rule{never: []string{"pkg/node", "pkg/cluster"}}}, // of changes, followed by others
		{paths: []string{"pkg/fixes"}},
		{paths: []string{"pkg/fixes/catalog"}, rule: readsOnly}, // plans only
		{paths: []string{"pkg/doctor"}, rule: readsOnly},
		{paths: []string{
			"pkg/doctor/checks/cms", "pkg/doctor/checks/controller", "pkg/doctor/checks/gateway", "pkg/doctor/checks/host",
			"pkg/doctor/checks/loadbalancer", "pkg/doctor/checks/northbound", "pkg/doctor/checks/ovs", "pkg/doctor/checks/southbound", "pkg/doctor/checks/tunnel",
		}, rule: readsOnly},
		{paths: []string{"pkg/doctor/checks"}, rule: readsOnly},
	}},
	{"render", []room{
		{paths: []string{"pkg/picture"}, rule: rule{never: []string{"pkg/ovsdb", "pkg/archive", "pkg/node", "pkg/cluster"}}}, // likewise
		{paths: []string{"pkg/page"}, rule: rule{never: []string{"pkg/ovsdb", "pkg/archive", "pkg/node", "pkg/cluster"}}},    // likewise
		{paths: []string{"pkg/ui"}, rule: rule{never: []string{"pkg/ovsdb", "pkg/archive", "pkg/node", "pkg/cluster"}}},      // likewise
		{paths: []string{"pkg/metrics"}, rule: rule{never: []string{"pkg/ovsdb", "pkg/archive", "pkg/node", "pkg/cluster"}}}, // likewise
		{paths: []string{"pkg/render"}, rule: rule{never: []string{"pkg/ovsdb", "pkg/archive", "pkg/node", "pkg/cluster"}}},  // never sees a connection
	}},
}

// shells stand outside the flow; nothing under pkg/ imports them, but for tests.
var shells = map[string][]string{ // with what they may import of the project
	"cmd/ovnctl":              {"docs", "internal/demo", "internal/gendocs", "pkg"},
	"docs":                    {},
	"internal/arch":           {},
	"internal/demo":           {},
	"internal/faults":         {"internal/lab", "pkg"},
	"internal/gendocs":        {},
	"internal/hostile":        {"internal/turn"},
	"internal/turn":           {},
	"internal/lab":            {"gather", "internal/lab", "pkg/ovsdb/ovsdbtest"},
	"pkg/ovsdb/ovsdbtest":     {"gather"},
	"pkg/picture/picturetest": {"pkg/picture"},
	"pkg/cluster/clustertest": {"pkg/cluster"},
}

// libraries says which places may import a module from elsewhere: a package with
// everything below it, or one file. What is not listed here is not to be imported.
var libraries = map[string][]string{
	"github.com/spf13/cobra":               {"cmd/ovnctl", "internal/gendocs", "internal/lab/cmd"},
	"github.com/spf13/pflag":               {"cmd/ovnctl", "internal/gendocs"},
	"github.com/vishvananda/netlink":       {"pkg/node", "internal/lab"},
	"github.com/vishvananda/netns":         {"pkg/node", "internal/lab"},
	"github.com/clipperhouse/displaywidth": {"pkg/picture", "pkg/render"},
	"github.com/klauspost/compress":        {"pkg/archive", "pkg/decompress", "pkg/node", "pkg/record", "internal/hostile"},
	"github.com/ulikunitz/xz":              {"pkg/decompress"},
	"go.yaml.in/yaml/v3":                   {"pkg/render", "pkg/facts"},
	"k8s.io/client-go/util/jsonpath":       {"pkg/render/jsonpath.go"},
	"k8s.io/client-go/rest":                {"pkg/kube"},
	"k8s.io/client-go/tools":               {"pkg/kube"},
	"k8s.io/client-go/transport":           {"pkg/kube"},
	"k8s.io/client-go/util/exec":           {"pkg/kube"},
	"k8s.io/apimachinery":                  {"pkg/kube"},
	"k8s.io/streaming":                     {"pkg/kube"},
	"k8s.io/klog/v2":                       {"pkg/kube"},
	"github.com/go-logr/logr":              {"pkg/kube"},
	"golang.org/x/net":                     {"pkg/fixes/ping.go"},
	"golang.org/x/term":                    {"cmd/ovnctl"},
	"golang.org/x/sync":                    {"pkg/cluster", "pkg/decode", "pkg/desired", "pkg/doctor/checks/cms", "pkg/doctor/checks/tunnel", "pkg/probe", "pkg/snapshot", "pkg/topology"},
	"golang.org/x/sys":                     {"cmd/ovnctl", "pkg/node", "internal/lab"},

	"github.com/ovn-kubernetes/libovsdb": {"pkg/replica"},

	"github.com/prometheus/client_golang":    {"pkg/metrics"},
	"github.com/prometheus/exporter-toolkit": {"cmd/ovnctl/serve.go"},
}

// testLibraries may be imported by any test, and by packages that are there for
// tests, beside what their place may import.
var testLibraries = []string{
	"github.com/chromedp",
	"github.com/google/go-cmp",
	"github.com/gopacket/gopacket",
	"github.com/rogpeppe/go-internal",
}

// drawers are names that say nothing about what is in a package.
var drawers = []string{"common", "helper", "helpers", "misc", "model", "models", "shared", "type", "types", "util", "utils"}

// terminal is what only commands may touch: packages under pkg/ are handed writers
// and return errors.
var terminal = []string{"fmt.Print", "fmt.Printf", "fmt.Println", "log.Fatal", "log.Fatalf", "os.Exit", "os.Stderr", "os.Stdin", "os.Stdout"}

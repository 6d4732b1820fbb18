package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/allot-dev/allot/"

// edges are all permitted imports among the packages of this directory, bottom to top. A name may
// be a pattern of path.Match, and "a/{b,c}" is a/b and a/c. A package may import the packages below
// its directory. Test files are not restricted.
var edges = []struct{ from, to, why string }{
	{"alloc", "model", "devices and claims are values of the model"},
	{"claims", "model", "who is reserved for is decided once, on values, for scheduler and controller"},
	{"sched", "model", "pods, nodes and the one State are values of the model"},
	{"sched", "alloc", "a node suits a pod only if its claims can have devices there"},
	{"sched/nodefit", "model", "nodes and what pods require are values of the model"},
	{"sched/score", "model", "nodes and what pods prefer are values of the model"},
	{"sched/score", "sched/nodefit", "only nodes that fit are compared"},

	{"sched/placement", "model", "it tries on the State"},
	{"sched/placement", "alloc", "a pod is placed where its claims can have devices"},
	{"sched/placement", "sched/nodefit", "a pod is placed where it fits"},
	{"sched/placement", "sched/score", "better nodes are tried first"},
	{"sched/placement", "sched/reason", "it returns why pods were not placed"},
	{"sched/placement", "sched/plan", "it returns where pods are placed"},

	{"sched/tree", "model", "a tree of groups is a value of the model"},
	{"sched/tree", "sched/placement", "the pods of a part of a tree are placed as one unit"},
	{"sched/tree", "sched/reason", "it returns why a tree was not placed"},
	{"sched/tree", "sched/plan", "it returns where the pods of a tree are placed"},

	{"sched/preempt", "model", "victims are removed from the State"},
	{"sched/preempt", "sched/nodefit", "what is free without victims is counted"},
	{"sched/preempt", "sched/tree", "whether a tree can be placed without victims is tried"},
	{"sched/preempt", "sched/placement", "whether victims are sufficient is tried"},
	{"sched/preempt", "sched/reason", "it adds to the reasons why preemption does not help"},
	{"sched/preempt", "sched/plan", "it returns where the unit is placed then"},

	{"sched/holding", "model", "it reads the State"},
	{"sched/holding", "sched", "whether a unit fits elsewhere is tried"},
	{"sched/holding", "sched/plan", "the pods of a plan do not count"},
	{"sched/plan", "model", "a plan changes the State"},
	{"sched/queue", "model", "units and the changes that wake them are values of the model"},
	{"sched/reason", "model", "changes that help are topics of the model"},
	{"sched/reason", "alloc", "a reason says why claims cannot be allocated"},
	{"sched/reason", "sched/nodefit", "a reason names the checks that nodes failed"},

	{"claims/claimstest", "testkit/line", "scenarios about claims have the syntax of all scenarios"},
	{"testkit/scenario", "testkit/line", "scenarios of the core have the syntax of all scenarios"},
	{"testkit/scenario", "model", "objects of a scenario are put into the State"},
	{"testkit/scenario", "sched", "a scenario places units"},
	{"testkit/scenario", "sched/plan", "a scenario prints plans"},
	{"testkit/scenario", "sched/preempt", "a scenario preempts"},
	{"testkit/scenario", "sched/queue", "a scenario tries parked units again"},
	{"testkit/scenario", "claims", "claims and slices are converted as the scheduler does"},
	{"testkit/scenario", "features", "a scenario switches features"},
	{"testkit/testserver", "apiserver", "tests of whole parts have a real server"},
	{"testkit/memserver", "apiserver", "its server has the parts of the real one"},
	{"testkit/memserver", "apiserver/{admission,inmemory,rbac,registry}", "its server has the parts of the real one"},
	{"testkit/memserver", "features", "all of them are on"},

	{"client", "apiserver/inmemory", "watches of a server in the process have objects as their events"},
	{"cluster", "client", "informers are where the State comes from"},
	{"cluster", "model", "objects become values of the State"},
	{"cluster", "claims", "which claim a pod means is decided there"},
	{"cluster", "groups", "pods are found by their PodGroup"},
	{"commit", "client", "a plan becomes API writes"},
	{"commit", "model", "a plan consists of values of the model"},
	{"commit", "sched/plan", "what is written is a Plan"},
	{"commit", "sched/holding", "claims that are held and not used are deallocated"},
	{"inventory", "model", "devices are counted in the State"},
	{"inventory", "alloc", "which devices a class selects, and which can be allocated, is decided there"},
	{"metrics", "inventory", "counts become metrics"},
	{"scheduler", "inventory", "the loop counts the State that it owns"},
	{"scheduler", "client", "binds, conditions and events are API writes"},
	{"scheduler", "claims", "which PodGroup a pod names is read there"},
	{"scheduler", "cluster", "the loop applies what happened before it places"},
	{"scheduler", "commit", "the loop hands plans over, and hears what became of them"},
	{"scheduler", "controller/reconciler", "statuses are written by retried workers, as controllers do"},
	{"scheduler", "groups", "conditions are decided there"},
	{"scheduler", "model", "the loop owns the State"},
	{"scheduler", "sched", "the loop places units"},
	{"scheduler", "sched/plan", "the loop assumes plans"},
	{"scheduler", "sched/holding", "the loop frees devices that are not used"},
	{"scheduler", "sched/preempt", "the loop evicts victims"},
	{"scheduler", "sched/reason", "the loop reports reasons"},
	{"scheduler", "sched/queue", "the loop tries units in the order of the queue"},

	{"controller/{certificates,tokencleaner}", "client", "objects are read from its caches and written with its clients"},
	{"controller/{certificates,tokencleaner}", "controller/reconciler", "keys are reconciled by workers in one way"},
	{"controller/{claim,daemonset,deployment,devicetaint,disruption,endpoints,eviction,garbagecollector}", "client",
		"a controller reads caches and writes the difference"},
	{"controller/{job,namespace,namespacedefaults,nodelifecycle,nodetaint,objects,podgc,podgroup}", "client",
		"a controller reads caches and writes the difference"},
	{"controller/{poolstatus,replicaset,replicationcontroller,resourcequota,statefulset,templatesync,ttl}", "client",
		"a controller reads caches and writes the difference"},
	{"controller/{claim,cronjob,daemonset,deployment,devicetaint,disruption,endpoints,eviction}", "controller/reconciler",
		"the queue and the workers are the same for all"},
	{
		"controller/{garbagecollector,job,namespace,namespacedefaults,nodelifecycle,nodetaint,podgc}",
		"controller/reconciler",
		"the queue and the workers are the same for all",
	},
	{"controller/replicationcontroller", "controller/reconciler", "its events are about ReplicationControllers"},
	{"controller/replicationcontroller", "controller/replicaset", "ReplicationControllers are seen as ReplicaSets"},
	{
		"controller/{podgroup,poolstatus,replicaset,resourcequota,statefulset,templatesync,ttl,workload}",
		"controller/reconciler",
		"the queue and the workers are the same for all",
	},
	{"controller/{cronjob,job,templatesync,workload}", "controller/expectations", "own writes are awaited in one way"},
	{"controller/{cronjob,daemonset,deployment,job,replicaset,replicationcontroller}", "controller/ownership",
		"who owns what is decided in one way"},
	{"controller/{statefulset,controllertest}", "controller/ownership", "who owns what is decided in one way"},
	{"controller/{daemonset,job,replicaset,statefulset}", "controller/batch",
		"many requests for one owner are made in one way"},
	{"controller/{cronjob,daemonset,deployment,disruption,endpointmirror,eviction,history,job}", "controller/objects",
		"objects are read and written in one way"},
	{"controller/{ownership,replicaset,replicationcontroller,statefulset,workload}", "controller/objects",
		"objects are read and written in one way"},
	{"controller/controllertest", "controller/history", "the revisions of a scenario are named by their templates"},
	{"controller/controllertest", "testkit/line", "scenarios of controllers have the syntax of all scenarios"},
	{"controller/{daemonset,job,replicaset,statefulset}", "controller/workload",
		"controllers of pods count and write them in one way"},
	{"controller/{cronjob,endpointmirror}", "client", "a controller reads caches and writes the difference"},
	{"controller/endpointmirror", "controller/reconciler", "the queue and the workers are the same for all"},
	{"controller/{endpoints,endpointmirror}", "controller/serviceslices", "EndpointSlices are followed in one way"},
	{"controller/cronjob", "controller/workload", "unseen writes are dropped after the same time"},
	{"controller/cronjob", "cron", "schedules are parsed in one way"},
	{"controller/{devicetaint,nodetaint}", "controller/eviction",
		"pods whose time is over are deleted in one way"},
	{"controller/{daemonset,job,replicaset,statefulset}", "controller/replica",
		"when a pod counts, and as what, is decided in one way"},
	{"controller/cronjob", "controller/replica", "objects are ordered in one way"},
	{"controller/{daemonset,statefulset}", "controller/history",
		"templates are remembered as revisions in one way"},
	{"controller/{garbagecollector,namespace,resourcequota}", "controller/kinds",
		"what the server can delete is listed in one place"},
	{"controller/{claim,devicetaint,eviction,poolstatus}", "claims", "what becomes of claims is decided there"},
	{"controller/{claim,podgroup}", "groups", "what becomes of PodGroups is decided there"},

	{"controller/workload", "client", "which errors are refusals is decided there"},
	{"controller/nodelifecycle", "fleet", "the nodes of a fleet share a lease"},

	{"controller/poolstatus", "model", "devices are counted over a State"},
	{"controller/poolstatus", "alloc", "what can be had is decided there"},

	{"node", "client", "the node side reads pods and writes their status"},
	{"node", "claims", "whether a pod may run with its claims is decided there (R39)"},
	{"node", "fleet", "simulated nodes follow a description"},
	{"node", "controller/reconciler", "nodes are reconciled like other objects"},

	{
		"apiserver",
		"apiserver/{admission,inmemory,noderights,rbac,registry,token}",
		"the server is assembled from its parts",
	},
	{"apiserver/{admission,noderights,validation}", "pki", "a request for a certificate is parsed there"},
	{"controller/certificates", "pki", "the authority of the cluster signs certificates"},
	{"apiserver/admission", "apiserver/noderights", "the secrets of a pod are determined there"},
	{"apiserver/defaults", "apiserver/quantity", "a quantity that is too large is not rounded"},
	{"apiserver/noderights", "claims", "the claims of a node's pods are determined there"},
	{
		"apiserver/registry",
		"apiserver/{defaults,gates,printers,rbac,validation}",
		"the descriptor of a kind has its functions",
	},
	{"apiserver/{registry,validation}", "cron", "schedules are parsed in one way"},
	{"apiserver/registry", "apiserver/inmemory", "events are passed to clients in the process as objects"},
	{"apiserver/registry", "apiserver/{dynamicadmission,noderights,quantity,token}", "rules for writes are decided there"},
	{"apiserver/registry", "claims", "known claim names are recorded at pod creation"},
	{"apiserver/dynamicadmission", "quota", "what an object uses of a quota is measured in one place"},
	{"controller/resourcequota", "quota", "what an object uses of a quota is measured in one place"},
	{"claims", "features", "what claims mean depends on what is on"},
	{"cluster", "features", "what is off is not seen"},
	{"scheduler", "features", "it hands down what is on"},
	{"controller/{claim,poolstatus}", "features", "what is off is left alone"},
	{"node", "features", "whether a pod may run depends on what is on"},
	{"apiserver", "features", "what is served depends on what is on"},
	{"apiserver/{gates,registry}", "features", "fields and kinds depend on the enabled features"},
	{"apiserver", "etcd", "the server stores in the embedded etcd"},
	{"apiserver", "pki", "the server authenticates by certificates"},

	{"explain", "snapshot", "what is explained is in a Snapshot"},
	{"explain", "model", "the State has what is asked about"},
	{"explain", "alloc", "why claims cannot be allocated is decided there"},
	{"explain", "sched", "units are placed again"},
	{"explain", "sched/*", "reasons say which check nodes failed"},
	{"explain", "claims", "which claim an entry means is decided there"},
	{"explain", "client", "objects of the API have one interface"},
	{"explain", "features", "what is off is not seen"},
	{"forecast", "snapshot", "what changes is a World"},
	{"forecast", "model", "units and devices are values of the model"},
	{"forecast", "sched", "units are placed there"},
	{"forecast", "sched/*", "units are tried in the order of the scheduler, and plans are written into the World"},
	{"forecast", "claims", "which claims are generated and released is decided there"},
	{"forecast", "groups", "the conditions of PodGroups are decided there"},
	{"forecast", "quota", "what an object uses of a quota is measured in one place"},
	{"forecast", "controller/{daemonset,deployment,devicetaint,disruption,job,replica,replicaset,statefulset}",
		"what controllers do is decided there"},
	{"forecast", "explain", "why pods wait is explained there"},
	{"forecast", "client", "objects of the API have one interface"},
	{"forecast", "features", "what is off is not done"},
	{"apiserver/offline", "apiserver/{admission,gates,registry}", "it applies the rules of the server"},
	{"apiserver/offline", "snapshot", "admission reads the objects of a World"},
	{"apiserver/offline", "client", "objects of the API have one interface"},
	{"apiserver/offline", "features", "kinds are served if their features are on"},
	{"snapshot", "client", "objects are those of the clients"},
	{"snapshot", "cluster", "its State is made as the scheduler's is"},
	{"snapshot", "features", "what is off on the server is not seen"},
	{"snapshot", "model", "its State is that of the model"},
	{"snapshot/restore", "snapshot", "its objects are written"},
	{"snapshot/restore", "client", "objects are written by the typed clients"},
	{"snapshot/restore", "fleet", "nodes and devices become a fleet"},
	{"snapshot/restore", "node", "machines of nodes that are down are stopped"},
	{"snapshot/gather", "snapshot", "what is read becomes a Snapshot"},
	{"snapshot/gather", "attach", "what a server has is surveyed there"},
	{"snapshot/gather", "client", "objects are read by the typed clients"},
	{"snapshot/gather", "features", "what a server lacks is off"},

	{"picture", "snapshot", "what is painted is a World"},
	{"picture", "model", "the State has the devices and their holders"},
	{"picture", "alloc", "which devices match a class, and which cannot be allocated, is decided there"},
	{"picture", "claims", "which claims a pod means is decided there"},
	{"picture", "client", "objects of the API have one interface"},
	{"dashboard", "picture", "what the page shows is a Picture"},
	{"dashboard", "explain", "a click is explained there"},
	{"dashboard", "sched", "explain places units on the State of the page"},
	{"dashboard", "snapshot", "what is shown is a World"},
	{"dashboard", "snapshot/gather", "changes come from there"},
	{"dashboard", "model", "objects have keys of the model"},
	{"dashboard", "client", "objects of the API have one interface"},

	{"attach", "client", "what a server speaks is a dialect of the clients"},
	{"attach", "claims", "who may use a claim is decided there"},
	{"attach", "groups", "what holds a PodGroup up is decided there"},
	{"attach", "features", "what a server lacks is off"},
	{"attach", "controller/reconciler", "its controllers are retried as all are"},
	{"attach/chartfiles", "attach", "the chart's roles have the rules that attaching needs"},
	{"attach/chartfiles", "controller/templatesync", "the chart's roles have the rules that the sync needs"},

	{"cli", "claims", "tables show the claims that pods mean"},
	{"cli", "client", "commands read and write objects of the API"},
	{"cli", "controller/kinds", "the kinds of a server are discovered there"},
	{"app", "*", "the composition root knows all"},
	{"app", "*/*", "the composition root knows all"},
}

// core are the packages that only decide: same input, same output, on any machine.
var core = []string{
	"model",
	"alloc",
	"sched",
	"sched/nodefit",
	"sched/score",
	"sched/reason",
	"sched/plan",
	"sched/queue",
	"sched/placement",
	"sched/preempt",
	"sched/holding",
	"sched/tree",
	"claims",
	"groups",
	"explain",
	"forecast",
	"picture",
}

// Imports that a core package has no use for, by prefix of the path.
var coreBans = []struct{ prefix, why string }{
	{"net", "the core does no I/O"},
	{"os", "the core does no I/O and reads no environment"},
	{"io/ioutil", "the core does no I/O"},
	{"syscall", "the core does no I/O"},
	{"log", "the core returns what there is to say"},
	{"k8s.io/klog", "the core returns what there is to say"},
	{"math/rand", "the core draws no random numbers"},
	{"crypto/rand", "the core draws no random numbers"},
	{"sync", "one goroutine owns the State"},
	{"k8s.io/client-go", "the core does no I/O"},
	{"k8s.io/apiserver/pkg/server", "the core does no I/O"},
	{"k8s.io/kubernetes", "the product never imports it"},
}

// Members of package time that read the clock or wait.
var clock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true,
	"NewTimer": true, "NewTicker": true,
}

type source struct {
	dir  string // below internal
	file *ast.File
	path string
}

func sources(t *testing.T, tests bool) (*token.FileSet, []source) {
	t.Helper()
	files := token.NewFileSet()
	var list []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") && !tests:
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, source{dir: filepath.ToSlash(filepath.Dir(name)), file: file, path: name})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, list
}

func imports(t *testing.T, file *ast.File) []string {
	t.Helper()
	var list []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	return list
}

func matches(t *testing.T, pattern, name string) bool {
	t.Helper()
	ok, err := path.Match(pattern, name)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func allowed(t *testing.T, from, to string) bool {
	t.Helper()
	if strings.HasPrefix(to, from+"/") {
		return true
	}
	for _, edge := range edges {
		if slices.ContainsFunc(expand(edge.from), func(pattern string) bool { return matches(t, pattern, from) }) &&
			slices.ContainsFunc(expand(edge.to), func(pattern string) bool { return matches(t, pattern, to) }) {
			return true
		}
	}
	return false
}

// expand returns a/b and a/c for "a/{b,c}".
func expand(pattern string) []string {
	prefix, list, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "}"), ",") {
		names = append(names, prefix+name)
	}
	return names
}

// An edge from a controller without an import must be removed, so that the table shows the imports.
func TestControllerEdgesAreUsed(t *testing.T) {
	_, list := sources(t, false)
	used := map[[2]string]bool{}
	for _, s := range list {
		for _, name := range imports(t, s.file) {
			used[[2]string{s.dir, strings.TrimPrefix(name, module+"internal/")}] = true
		}
	}
	for _, edge := range edges {
		for _, from := range expand(edge.from) {
			if strings.HasPrefix(from, "controller/") && !used[[2]string{from, edge.to}] {
				t.Errorf("%s does not import %s", from, edge.to)
			}
		}
	}
}

func TestImportsAreAllowed(t *testing.T) {
	_, list := sources(t, false)
	if len(list) == 0 {
		t.Fatal("found no source")
	}
	for _, s := range list {
		for _, name := range imports(t, s.file) {
			if to, ok := strings.CutPrefix(name, module+"internal/"); ok && !allowed(t, s.dir, to) {
				t.Errorf("%s: %s imports %s: no edge in deps_test.go allows that", s.path, s.dir, to)
			}
			if strings.HasPrefix(name, "k8s.io/kubernetes") {
				t.Errorf("%s: imports %s, which the product never does", s.path, name)
			}
		}
	}
}

func TestEveryEdgeHasAReason(t *testing.T) {
	for _, edge := range edges {
		if edge.why == "" {
			t.Errorf("edge %s -> %s has no reason", edge.from, edge.to)
		}
	}
}

func TestCoreIsPure(t *testing.T) {
	files, list := sources(t, false)
	for _, s := range list {
		if !isCore(s.dir) {
			continue
		}
		for _, name := range imports(t, s.file) {
			for _, ban := range coreBans {
				if name == ban.prefix || strings.HasPrefix(name, ban.prefix+"/") {
					t.Errorf("%s imports %s: %s", s.path, name, ban.why)
				}
			}
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			for _, what := range impure(node) {
				t.Errorf("%s: %s", files.Position(node.Pos()), what)
			}
			return true
		})
		for _, what := range mutable(s.file) {
			t.Errorf("%s: %s", s.path, what)
		}
	}
}

func isCore(dir string) bool {
	return slices.Contains(core, dir)
}

func impure(node ast.Node) []string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return []string{"the core starts no goroutines"}
	case *ast.SelectStmt:
		return []string{"the core waits for nothing"}
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && clock[n.Sel.Name] {
			return []string{"the core does not read the clock: time." + n.Sel.Name}
		}
	}
	return nil
}

// mutable returns init functions, and package variables other than sentinel errors, compiled
// patterns and table literals.
func mutable(file *ast.File) []string {
	var found []string
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, "the core has no init functions")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if v := spec.(*ast.ValueSpec); len(v.Values) == 0 {
					found = append(found, "package variable "+v.Names[0].Name+" has no value that it keeps")
				}
			}
		}
	}
	return found
}

func TestImpureFindsWhatItBans(t *testing.T) {
	const text = `package p
import "time"
var counter int
func init() {}
func f() { go f(); _ = time.Now(); select {} }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		found = append(found, impure(node)...)
		return true
	})
	found = append(found, mutable(file)...)
	if len(found) != 5 {
		t.Errorf("found %q, want five faults", found)
	}
}

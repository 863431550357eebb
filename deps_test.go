package steady_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the root package may import, and which of its files.
var allowedModules = map[string][]string{
	"github.com/hashicorp/go-retryablehttp": {"backoff.go"},
	"github.com/sony/gobreaker/v2":          {"breakerkey.go"},
	"golang.org/x/time":                     {"bucket.go"},
	"github.com/hashicorp/go-cleanhttp":     nil, // go-retryablehttp's own
}

func TestTheRootPackageDependsOnThreeLibrariesAndNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.Module.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		seen[module] = true
		if _, ok := allowedModules[module]; !ok && module != "github.com/steadyhttp/steady" {
			t.Errorf("the root package depends on %s", module)
		}
	}
	for module := range allowedModules {
		if !seen[module] {
			t.Errorf("the root package no longer depends on %s: the list of this test is out of date", module)
		}
	}
}

// rootFiles returns the parsed files of the root package, by name.
func rootFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	if len(files) < 10 {
		t.Fatalf("found %d files only", len(files))
	}
	return files
}

// foreign returns the module of an import, if it is not the standard library's
// or this module's own.
func foreign(path string) (module string, ok bool) {
	for module := range allowedModules {
		if path == module || strings.HasPrefix(path, module+"/") {
			return module, true
		}
	}
	first, _, _ := strings.Cut(path, "/")
	return path, strings.Contains(first, ".") && !strings.HasPrefix(path, "github.com/steadyhttp/steady")
}

func TestOnlyTheLayerThatUsesALibraryImportsIt(t *testing.T) {
	for name, f := range rootFiles(t) {
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			module, ok := foreign(path)
			if !ok {
				continue
			}
			if imp.Name != nil {
				t.Errorf("%s renames %s, which hides it from TestNoTypeOfALibraryIsExported", name, path)
			}
			if !slices.ContainsFunc(allowedModules[module], func(pattern string) bool {
				match, err := filepath.Match(pattern, name)
				return err == nil && match
			}) {
				t.Errorf("%s imports %s, which only %v may", name, path, allowedModules[module])
			}
		}
	}
}

// An exported declaration that names a library's package would tie the users of
// this one to it.
func TestNoTypeOfALibraryIsExported(t *testing.T) {
	libraries := map[string]bool{"retryablehttp": true, "gobreaker": true, "rate": true, "cleanhttp": true}
	exported := 0
	for name, f := range rootFiles(t) {
		check := func(what string, node ast.Node) {
			exported++
			if node == nil {
				return
			}
			ast.Inspect(node, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if x, isName := selected(sel, ok); isName && libraries[x] {
					t.Errorf("%s: %s shows %s.%s", name, what, x, sel.Sel.Name)
				}
				return true
			})
		}
		for _, decl := range f.Decls {
			checkDecl(decl, check)
		}
	}
	if exported < 60 {
		t.Errorf("looked at %d exported declarations only", exported)
	}
}

func selected(sel *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return x.Name, true
}

// checkDecl hands check what go doc would show of decl.
func checkDecl(decl ast.Decl, check func(what string, node ast.Node)) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			check(d.Name.Name, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					checkType(s.Name.Name, s.Type, check)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Type != nil {
						check(n.Name, s.Type)
					} else if n.IsExported() {
						check(n.Name, s)
					}
				}
			}
		}
	}
}

// checkType leaves out the unexported fields of a struct.
func checkType(name string, typ ast.Expr, check func(what string, node ast.Node)) {
	st, ok := typ.(*ast.StructType)
	if !ok {
		check(name, typ)
		return
	}
	for _, field := range st.Fields.List {
		if len(field.Names) == 0 {
			check(name, field.Type)
		}
		for _, n := range field.Names {
			if n.IsExported() {
				check(name+"."+n.Name, field.Type)
			}
		}
	}
}

// constantTables are variables only because Go has no constant arrays and maps.
var constantTables = map[string]bool{"outcomeNames": true}

// What the package keeps between calls, it keeps in the values that the caller
// made. So two stacks in a program cannot know of each other.
func TestThePackageHasNoStateOfItsOwnAndNoInit(t *testing.T) {
	for name, f := range rootFiles(t) {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s has an init", name)
				}
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					continue
				}
				for _, spec := range d.Specs {
					s := spec.(*ast.ValueSpec)
					for _, n := range s.Names {
						if !strings.HasPrefix(strings.ToLower(n.Name), "err") && !constantTables[n.Name] && n.Name != "_" {
							t.Errorf("%s has the package variable %s", name, n.Name)
						}
					}
				}
			}
		}
	}
}

// A stack is silent unless told otherwise: no file of it can write to the
// process's own streams or to the standard logger.
func TestNoFilePrints(t *testing.T) {
	for name, f := range rootFiles(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			x, ok := selected(sel, ok)
			if !ok {
				return true
			}
			switch call := x + "." + sel.Sel.Name; {
			case x == "log", call == "os.Stdout", call == "os.Stderr", call == "slog.Default", strings.HasPrefix(call, "fmt.Print"):
				t.Errorf("%s uses %s", name, call)
			}
			return true
		})
	}
}

package steadytest

import (
	"fmt"
	"net/http"
	"reflect"
)

// snapshot remembers req and returns a function that says which of its fields
// are no longer what they were: another map or pointer, or other content.
func snapshot(req *http.Request) func(*http.Request) []string {
	shallow, deep := *req, req.Clone(req.Context())
	return func(now *http.Request) []string {
		var changed []string
		if now.Context() != shallow.Context() {
			changed = append(changed, "its context")
		}
		was, content, is := reflect.ValueOf(shallow), reflect.ValueOf(*deep), reflect.ValueOf(*now)
		for i := range was.NumField() {
			f := was.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if !same(was.Field(i), is.Field(i)) {
				changed = append(changed, f.Name+" is another one")
				continue
			}
			if f.Type.Kind() != reflect.Func && !reflect.DeepEqual(content.Field(i).Interface(), is.Field(i).Interface()) {
				changed = append(changed, fmt.Sprintf("%s is %v, was %v", f.Name, is.Field(i), content.Field(i)))
			}
		}
		for name, values := range now.Header {
			for _, extra := range values[len(values):cap(values)] {
				if extra != "" {
					changed = append(changed, fmt.Sprintf("the array behind Header[%q] holds %q", name, extra))
				}
			}
		}
		return changed
	}
}

// same reports whether a and b are one: equal, and for what refers to something,
// referring to the same.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice:
		return a.Pointer() == b.Pointer()
	default:
		return a.Equal(b)
	}
}

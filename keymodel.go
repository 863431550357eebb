package steady

import (
	"io"
	"net/http"
	"strings"
)

// How much of a request body KeyByModel looks at, and how long a name it takes
// for a model's.
const (
	modelWithin  = 1 << 20
	modelLongest = 128
)

// KeyByModel is the [KeyFunc] for providers that limit each model by itself: the
// host and the model, as in "api.deepseek.com/deepseek-chat". The model is read
// from the path (Gemini, Azure, Bedrock) or is the "model" of the JSON body, of
// which a copy is read through GetBody as far as that name, at most 1 MiB. Where
// it cannot be read the key is the host alone.
func KeyByModel(req *http.Request) string {
	host := KeyByHost(req)
	model := modelInPath(req)
	if model == "" {
		model = modelInBody(req)
	}
	if model == "" || len(model) > modelLongest {
		return host
	}
	return host + "/" + model
}

// modelInBody returns the model that req's body names, or "". The bodies of some
// SDKs share one cursor, so another one is opened to set that back.
func modelInBody(req *http.Request) string {
	open := opener(req)
	if open == nil {
		return ""
	}
	body, err := opened(open)
	if err != nil {
		return ""
	}
	model := modelIn(io.LimitReader(body, modelWithin))
	body.Close()
	if body, err = opened(open); err == nil {
		body.Close()
	}
	return model
}

// modelInPath returns the model that the path names, or "".
func modelInPath(req *http.Request) string {
	if req.URL == nil {
		return ""
	}
	for _, before := range [...]string{"/models/", "/deployments/", "/model/"} {
		if _, rest, ok := strings.Cut(req.URL.Path, before); ok {
			end := strings.IndexAny(rest, ":/")
			if end > 0 { // something is done with it: it is not a look at a list
				return rest[:end]
			}
		}
	}
	return ""
}

// modelIn returns the string that r's JSON object has under "model", or "".
func modelIn(r io.Reader) string {
	s := modelScan{}
	var chunk [8 << 10]byte
	for {
		n, err := r.Read(chunk[:])
		for _, c := range chunk[:n] {
			if s.step(c) {
				return s.model
			}
		}
		if err != nil {
			return ""
		}
	}
}

// modelScan reads a JSON text byte by byte. It keeps only the strings that stand
// in the outermost object, and of those no more than could matter.
type modelScan struct {
	depth    int
	inString bool
	escaped  bool
	value    bool // after a colon of the outermost object
	isModel  bool // the last key there was "model"
	text     []byte
	model    string
}

// step takes the next byte and reports whether the search is over.
func (s *modelScan) step(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
		s.keep(c)
	case s.inString && c == '\\':
		s.escaped = true
		s.keep(c)
	case s.inString && c == '"':
		s.inString = false
		return s.endString()
	case s.inString:
		s.keep(c)
	case c == '"':
		s.inString, s.text = true, s.text[:0]
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
		return s.depth <= 0
	case s.depth == 1 && c == ':':
		s.value = true
	case s.depth == 1 && c == ',':
		s.value, s.isModel = false, false
	}
	return false
}

func (s *modelScan) keep(c byte) {
	if s.depth == 1 && len(s.text) <= modelLongest {
		s.text = append(s.text, c)
	}
}

func (s *modelScan) endString() bool {
	switch {
	case s.depth != 1:
	case !s.value:
		s.isModel = string(s.text) == "model"
	case s.isModel:
		s.model = string(s.text)
		return true
	}
	return false
}

package wire

import "bytes"

// What a request holds beside its text is counted at these flat amounts.
const (
	// mediaTokens is for an image, recording or document, whatever its size. Hosts
	// count 85 to 1600 for an image, by its pixels, which the bytes do not tell.
	mediaTokens = 1000
	// roleTokens and replyTokens are for the envelope of each message and for the
	// beginning of the answer, as OpenAI counts them.
	roleTokens  = 4
	replyTokens = 3
)

// An ask is what a request asks of a model. It is read from the body in one
// pass, which builds nothing; what is no JSON is left alone.
type ask struct {
	meter
	flat    int64 // tokens of what is not text
	roles   int64
	limit   int64 // on the output; zero if it is not set
	choices int64 // how many answers
	prompt  bool  // something to ask was found
	tools   bool
	whole   bool   // the document came to its end
	model   []byte // part of the body
	silent  int    // bytes of strings that are not text

	body  []byte
	stack [maxNest]askSlot // of the open containers, arrays with inArray set
	depth int
	slot  askSlot // of the value to come
	inKey bool    // a key is to come
}

const (
	maxNest  = 128 // deeper is not read
	maxLimit = 1 << 40
)

// input is the estimate of all that the model reads.
func (a *ask) input() int64 {
	n := a.flat + a.roles*roleTokens + int64((a.units+unit-1)/unit)
	if a.roles > 0 {
		n += replyTokens
	}
	return n
}

// read reads the beginning of a body, or all of it.
func (a *ask) read(body []byte) {
	a.body, a.slot = body, askRoot
	for i := 0; i < len(body) && !a.whole; {
		n := a.next(i)
		if n == 0 {
			return
		}
		i += n
	}
}

// next reads one token of the document at i and returns its length, or zero if
// there is none.
func (a *ask) next(i int) int {
	switch c := a.body[i]; {
	case isSpace(c), c == ':':
		return 1
	case c == '{', c == '[':
		return a.open(c)
	case a.depth == 0:
		return 0
	case c == '"' && a.inKey:
		return 1 + a.key(a.body[i+1:])
	case c == '"':
		return 1 + a.str(a.body[i+1:])
	case c == ',':
		a.comma()
		return 1
	case c == '}', c == ']':
		a.depth--
		a.whole, a.inKey = a.depth == 0, false
		return 1
	}
	return a.scalar(a.body[i:])
}

func (a *ask) open(c byte) int {
	if a.depth == maxNest || a.depth == 0 && c != '{' {
		return 0
	}
	a.prompt = a.prompt || a.slot.asks()
	s := a.slot
	if a.inKey = c == '{'; !a.inKey {
		s |= inArray
	} else if s == askTools {
		a.tools = true
	}
	if s.isData() {
		a.units += unit / 2
	}
	a.stack[a.depth] = s
	a.depth++
	a.slot = s &^ inArray
	return 1
}

func (a *ask) comma() {
	top := a.stack[a.depth-1]
	a.slot, a.inKey = top&^inArray, top&inArray == 0
}

// key reads the rest of a key and of its quotes.
func (a *ask) key(b []byte) int {
	a.inKey = false
	top := a.stack[a.depth-1]
	n, end := plainRun(b)
	if top.isData() {
		n = a.text(b)
		a.units += unit
	} else if end == '\\' {
		n = stringEnd(b) // nobody's
	}
	a.slot = top.child(b[:n])
	return min(n+1, len(b))
}

// str reads the rest of a string that is a value, and of its quotes.
func (a *ask) str(b []byte) int {
	n := 0
	switch {
	case a.slot == askRole:
		a.roles++
		n = stringEnd(b)
	case !a.slot.asks():
		n = stringEnd(b)
		a.silent += n
		if a.slot == askModel {
			a.model = b[:min(n, maxLabel)]
		}
	case isDataURL(b), a.slot == askMedia && isMedia(b):
		a.prompt = true
		n = stringEnd(b)
		a.silent += n
		a.flat += mediaTokens
	default:
		a.prompt = true
		n = a.text(b)
		if a.slot.isData() {
			a.units += unit / 2
		}
	}
	return min(n+1, len(b))
}

// scalar reads a number, true, false or null.
func (a *ask) scalar(b []byte) int {
	n := 0
	for n < len(b) && b[n] > ' ' && b[n] != ',' && b[n] != '}' && b[n] != ']' && b[n] != '"' {
		n++
	}
	if n == 0 {
		return 0
	}
	v, ok := parseCount(b[:min(n, 24)])
	switch ok = ok && n < len(b); { // its last digits may be missing
	case a.slot.asks():
		a.prompt = true
		a.units += unit // a number, and in a list of numbers a token itself
	case ok && a.slot == askLimit:
		a.limit = max(a.limit, min(v, maxLimit))
	case ok && a.slot == askChoices:
		a.choices = max(a.choices, min(v, maxChoices))
	}
	return n
}

// stringEnd returns where the quote is that ends the string in b.
func stringEnd(b []byte) int {
	for i := 0; ; {
		n, c := plainRun(b[i:])
		if i += n; c != '\\' {
			return i
		}
		if i += 2; i >= len(b) {
			return len(b)
		}
	}
}

// isDataURL reports whether a string is a file of its own.
func isDataURL(b []byte) bool {
	return hasPrefix(b, "data:") && bytes.Contains(upToQuote(b, 128), []byte(";base64,"))
}

// isMedia reports whether a string where a file may be is one, or names one. It
// may also be a document in plain text.
func isMedia(b []byte) bool {
	for _, scheme := range [...]string{"http:", "https:", "gs:", "s3:", "file-", "file_"} {
		if hasPrefix(b, scheme) {
			return true
		}
	}
	const enough = 64 // what is shorter is hardly an image, and costs little as text
	head := upToQuote(b, 4*enough)
	for _, c := range head {
		if !isWordByte(c) && c != '+' && c != '/' && c != '=' && c != '-' && c != '_' && c != '\\' {
			return false
		}
	}
	return len(head) >= enough
}

// upToQuote returns at most n bytes of the string in b.
func upToQuote(b []byte, n int) []byte {
	b = b[:min(n, len(b))]
	if i := bytes.IndexByte(b, '"'); i >= 0 {
		return b[:i]
	}
	return b
}

package wire

import "strings"

// MaxChargeBody is how much of a body [ChargeOf] looks at, which takes one to
// three milliseconds.
const MaxChargeBody = 1 << 20

// Charge is what a provider counts a request as, in tokens, against its limit
// per minute. It is an estimate, made without a tokenizer: for the usual text of
// one language expect it to be right within a factor of 1.6, mostly far less.
//
// Where the history is kept by the provider, as with previous_response_id, the
// request does not tell how much of it there is, and the usage has to.
type Charge struct {
	Input  int64 // what the model reads
	Output int64 // what it may write, as far as the provider counts that beforehand

	tariff   tariff
	fivefold bool // each token of output counts for five
	paysAll  bool // tokens read from a cache count as any other
}

// ChargeOf reads what a request to host and path will be counted as from the
// beginning of its body, or all of it, and from the length of the whole, which
// is -1 if it is not known. What cannot be read is taken for text of that length
// where the path asks a model, and for nothing where it does not.
func ChargeOf(host, path string, body []byte, size int64) Charge {
	c := Charge{tariff: tariffOf(host, path)}
	if c.tariff == tariffNone {
		return c
	}
	size = min(max(size, int64(len(body))), maxLimit)
	body = body[:min(len(body), MaxChargeBody)]
	var a ask
	a.read(body)
	if !a.prompt && !Inference(path) {
		return Charge{}
	}
	c.Input = a.input() + a.unread(size-int64(len(body)))
	c.heed(&a, path)
	c.Output = c.output(&a, path)
	return c
}

// heed notes what depends on the model, which is named in the body or the path.
func (c *Charge) heed(a *ask, path string) {
	if c.tariff != tariffAnthropic && c.tariff != tariffBedrock {
		return
	}
	model := path
	if len(a.model) > 0 {
		model = string(a.model)
	}
	if a.tools && (c.tariff == tariffAnthropic || strings.Contains(model, "claude")) {
		c.Input += anthropicTools
	}
	c.fivefold = c.tariff == tariffBedrock && burnsFive(model)
	c.paysAll = c.tariff == tariffAnthropic && strings.Contains(model, "3-5-haiku")
}

// anthropicTools is the prompt of Anthropic's own that comes with the first tool
// of a request: 313 to 346 tokens for most models.
const anthropicTools = 340

// unread is the estimate of what was not read: the bytes after the body, and
// the body if it is no JSON of the kind that asks something. Text of any script
// has about four bytes a token. Bytes that are not there yet are taken to have
// as large a part of files as the body had.
func (a *ask) unread(after int64) int64 {
	const perToken = 4
	switch n := int64(len(a.body)); {
	case !a.prompt:
		return (n + after) / perToken
	case a.whole || after == 0:
		return 0
	default:
		return int64(float64(after) / perToken * float64(n-int64(a.silent)) / float64(n))
	}
}

// What a request without a limit on its output is taken to ask for.
const (
	usualOutput = 1024 // Kimi's own default; elsewhere the usage corrects it
	// Bedrock takes what the model can write at most.
	claudeOutput  = 64_000
	bedrockOutput = 8192
)

func (c Charge) output(a *ask, path string) int64 {
	limit := a.limit
	switch {
	case c.tariff == tariffAnthropic, c.tariff == tariffGemini, isInputOnly(path):
		return 0
	case limit > 0:
	case c.tariff == tariffOpenAI:
		return 0
	case c.tariff == tariffBedrock && c.fivefold:
		limit = claudeOutput
	case c.tariff == tariffBedrock:
		limit = bedrockOutput
	default:
		limit = usualOutput
	}
	return limit * max(a.choices, 1)
}

// burnsFive reports whether Bedrock counts the output of a model five times: it
// does so for Claude from 3.7 on.
func burnsFive(model string) bool {
	_, claude, ok := strings.Cut(model, "claude-")
	if !ok {
		return false
	}
	for _, old := range [...]string{"v1", "v2", "instant", "3-haiku", "3-sonnet", "3-opus", "3-5-"} {
		if strings.HasPrefix(claude, old) {
			return false
		}
	}
	return true
}

// Reserved is what to take from a bucket of tokens before the request goes.
func (c Charge) Reserved() int64 {
	if c.tariff == tariffOpenAI {
		return max(c.Input, c.Output)
	}
	return c.Input + c.Output
}

// Settled is what the request came to, once the usage of its answer is known. It
// may be more than what was reserved. Without a usage, and with the providers
// that never look at it, the reservation stays.
func (c Charge) Settled(u Usage) int64 {
	if !u.Known || u.Input <= 0 && u.Output <= 0 && u.Total <= 0 {
		return c.Reserved()
	}
	in, out := usedTokens(u.Input), usedTokens(u.Output)
	switch {
	case u.Input <= 0 && u.Output <= 0:
		in = usedTokens(u.Total)
	case u.Input <= 0:
		in = c.Input // some relays count the output alone
	}
	cached := min(usedTokens(u.CachedInput), in)
	switch c.tariff {
	case tariffNone:
		return 0
	case tariffFixed:
		return c.Reserved()
	case tariffOpenAI:
		return max(c.Reserved(), in+out)
	case tariffGemini:
		return in
	case tariffBedrock:
		if c.fivefold {
			out *= 5
		}
		return in - cached + out
	case tariffAnthropic, tariffGroq:
		if !c.paysAll {
			in -= cached
		}
	}
	return in + out
}

// usedTokens keeps a count of a foreign host within bounds.
func usedTokens(n int64) int64 { return min(max(n, 0), maxLimit) }

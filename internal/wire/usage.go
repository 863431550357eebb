package wire

import (
	"math/bits"
	"strconv"
)

// Usage is what an answer says that it consumed. Known is false when it never
// said so, which is not the same as nothing.
type Usage struct {
	Known       bool
	Input       int64 // all input, tokens read from or written to a cache included
	Output      int64 // all output, reasoning included
	Total       int64
	CachedInput int64   // the part of Input that was read from a cache
	CacheWrite  int64   // the part of Input that was written to a cache
	CostUSD     float64 // zero when the provider does not price its answers
}

// The fields that the providers use between them. Prompt counts of the OpenAI
// kind include the cached tokens, input counts of the Anthropic kind do not,
// so the two must be told apart.
const (
	countPrompt slot = iota // prompt_tokens: cached tokens included
	countInput              // input_tokens: plus countRead and countMade, if there are any
	countOutput
	countTotal
	countCached // part of the prompt
	countWrite  // part of the prompt
	countRead   // beside the input
	countMade   // beside the input
	countThoughts
	countToolPrompt
	countFields
	countCost = countFields
)

func usageKey(key []byte) slot {
	switch string(key) {
	case "prompt_tokens", "promptTokenCount", "prompt_token_count":
		return slotCount + countPrompt
	case "input_tokens", "inputTokens":
		return slotCount + countInput
	case "completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount", "candidates_token_count":
		return slotCount + countOutput
	case "total_tokens", "totalTokens", "totalTokenCount", "total_token_count":
		return slotCount + countTotal
	case "cached_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount", "cached_content_token_count":
		return slotCount + countCached
	case "cache_write_tokens":
		return slotCount + countWrite
	case "cache_read_input_tokens", "cacheReadInputTokens":
		return slotCount + countRead
	case "cache_creation_input_tokens", "cacheWriteInputTokens":
		return slotCount + countMade
	case "thoughtsTokenCount", "thoughts_token_count":
		return slotCount + countThoughts
	case "toolUsePromptTokenCount":
		return slotCount + countToolPrompt
	case "cost":
		return slotCount + countCost
	case "prompt_tokens_details", "input_tokens_details", "tokens": // the last is Cohere's
		return slotUsageDetails
	}
	return slotSkip
}

// counts are the fields of a usage that have been seen.
type counts struct {
	seen uint16 // bit i: n[i] is set
	n    [countFields]int64
	cost float64
}

// set notes the field of slot s. A zero never replaces a number: relays send
// placeholders before and after the real one.
func (c *counts) set(s slot, text []byte) {
	field := s - slotCount
	if field == countCost {
		if v, err := strconv.ParseFloat(string(text), 64); err == nil && v > 0 {
			c.cost = v
		}
		return
	}
	if v, ok := parseCount(text); ok {
		c.put(field, v)
	}
}

func (c *counts) put(field slot, v int64) {
	if v != 0 || !c.has(field) {
		c.seen |= 1 << field
		c.n[field] = v
	}
}

// clear forgets all of them.
func (c *counts) clear() { c.seen, c.cost = 0, 0 }

func (c *counts) has(field slot) bool { return c.seen&(1<<field) != 0 }

// merge takes over what a later event says. Counts are cumulative everywhere,
// so the last one counts and nothing is added up.
func (c *counts) merge(later *counts) {
	if later.cost > 0 {
		c.cost = later.cost
	}
	if later.seen == 0 {
		return
	}
	c.seen &^= 1 << countTotal // of other parts; summed up if it is not said again
	for seen := later.seen; seen != 0; seen &= seen - 1 {
		field := slot(bits.TrailingZeros16(seen))
		c.put(field, later.n[field])
	}
}

func (c *counts) usage() Usage {
	u := Usage{CostUSD: c.cost, Known: c.seen != 0 || c.cost > 0}
	n := func(field slot) int64 {
		if !c.has(field) {
			return 0
		}
		return c.n[field]
	}
	u.Input = n(countPrompt)
	if u.Input == 0 {
		u.Input = n(countInput) + n(countRead) + n(countMade)
	}
	u.Input += n(countToolPrompt)
	u.Output = n(countOutput) + n(countThoughts)
	if u.Total = n(countTotal); u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	u.CachedInput = max(n(countCached), n(countRead))
	u.CacheWrite = max(n(countWrite), n(countMade))
	return u
}

// parseCount reads a count of tokens. A float counts if it is whole: some
// relays pass numbers through JavaScript.
func parseCount(text []byte) (int64, bool) {
	const most = 1 << 53
	var v int64
	for _, c := range text {
		if c < '0' || c > '9' || v > most {
			f, err := strconv.ParseFloat(string(text), 64)
			return int64(f), err == nil && f >= 0 && f <= most && f == float64(int64(f))
		}
		v = v*10 + int64(c-'0')
	}
	return v, len(text) > 0
}

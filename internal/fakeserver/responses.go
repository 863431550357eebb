package fakeserver

import (
	"fmt"
)

// responses is the dialect of OpenAI's Responses API. It shares request ids, pacing and error statuses with chat
// completions. Its streams end with response.completed, and no [DONE] follows.
type responses struct{ openAI }

// response is the object that answers carry whole and streams carry at their beginning and end.
func (responses) response(g generation, status string, output []object, usage any) object {
	return object{
		"id": fmt.Sprintf("resp_%06d", g.n), "object": "response", "created_at": g.created, "model": g.model,
		"status": status, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
		"output": output, "parallel_tool_calls": true, "temperature": 1, "tool_choice": "auto", "tools": []object{},
		"top_p": 1, "usage": usage,
	}
}

func (responses) usage(g generation) object {
	return object{
		"input_tokens": g.InputTokens, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": g.OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": g.InputTokens + g.OutputTokens,
	}
}

func (responses) item(g generation, status string, content []object) object {
	return object{
		"id": fmt.Sprintf("msg_%06d", g.n), "type": "message", "status": status, "role": "assistant", "content": content,
	}
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

func (r responses) whole(g generation) []byte {
	item := r.item(g, "completed", []object{outputText(g.Text)})
	return marshal(r.response(g, "completed", []object{item}, r.usage(g)))
}

func (r responses) stream(g generation) []event {
	var events []event
	add := func(name string, data object) {
		data["sequence_number"] = len(events)
		e := namedEvent(name, data)
		e.finish = name == "response.completed"
		events = append(events, e)
	}
	inPart := func(field string, value any) object {
		return object{
			"item_id": fmt.Sprintf("msg_%06d", g.n), "output_index": 0, "content_index": 0, field: value,
		}
	}
	begun := r.response(g, "in_progress", []object{}, nil)
	add("response.created", object{"response": begun})
	add("response.in_progress", object{"response": begun})
	add("response.output_item.added", object{"output_index": 0, "item": r.item(g, "in_progress", []object{})})
	add("response.content_part.added", inPart("part", outputText("")))
	for _, token := range g.tokens() {
		delta := inPart("delta", token)
		delta["logprobs"] = []object{}
		add("response.output_text.delta", delta)
	}
	done := inPart("text", g.Text)
	done["logprobs"] = []object{}
	add("response.output_text.done", done)
	add("response.content_part.done", inPart("part", outputText(g.Text)))
	item := r.item(g, "completed", []object{outputText(g.Text)})
	add("response.output_item.done", object{"output_index": 0, "item": item})
	add("response.completed", object{"response": r.response(g, "completed", []object{item}, r.usage(g))})
	return events
}

// frame nests the error, as the wire does and the specification does not.
func (responses) frame(p problem) []byte {
	return namedEvent("error", object{
		"error": object{"type": p.kind, "code": nullable(p.code), "message": p.message, "param": nil},
	}).data
}

func (responses) keepAlive() []byte { return namedEvent("keepalive", object{}).data }

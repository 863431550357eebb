package wire

import (
	"testing"
)

// More answers of the kinds of the fixtures, in the words that other hosts, other
// versions and other languages have for them.
func TestErrorsInOtherWords(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header []string
		body   string
		want   Class
		wait   string // "source wait"; empty is none
	}{
		// OpenAI and its relatives.
		{name: "requests per day with a time", status: 429, body: `{"error":{"message":"Rate limit reached for gpt-y in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, want: ClassRateLimit, wait: "body.message 7m12s"},
		{name: "a hard limit on the bill", status: 400, body: `{"error":{"code":"billing_hard_limit_reached","message":"Billing hard limit has been reached","param":null,"type":"invalid_request_error"}}`, want: ClassQuotaExhausted},
		{name: "a bill that is not active", status: 429, body: `{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`, want: ClassQuotaExhausted},
		{name: "a monthly spend that is reached, by code", status: 429, body: `{"error":{"type":"rate_limit_error","code":"workspace_spend_limit_reached","message":"x"}}`, want: ClassQuotaExhausted},
		{name: "images per minute", status: 429, body: `{"error":{"message":"Rate limit reached for gpt-image-y on input-images per min: Limit 5, Used 5, Requested 1. Please try again in 12s.","type":"input-images","code":"rate_limit_exceeded"}}`, want: ClassRateLimit, wait: "body.message 12s"},
		{name: "an image that moderation stopped", status: 400, body: `{"error":{"message":"Your request was rejected by the safety system.","type":"image_generation_user_error","param":null,"code":"moderation_blocked"}}`, want: ClassContentPolicy},
		{name: "embeddings of a text that is too long", status: 400, body: `{"error":{"message":"Invalid 'input[3]': maximum context length is 8192 tokens.","type":"invalid_request_error","param":null,"code":null}}`, want: ClassContextLength},
		{name: "a context window in Responses", status: 400, body: `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, want: ClassContextLength},
		{name: "an output limit is no context", status: 400, body: `{"error":{"message":"max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`, want: ClassInvalidRequest},
		{name: "an output limit of Anthropic is no context", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens for claude-y"}}`, want: ClassInvalidRequest},
		{name: "a key of the cache that is too long", status: 400, body: `{"error":{"message":"Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.","type":"invalid_request_error","code":"string_above_max_length"}}`, want: ClassInvalidRequest},
		{name: "a model that one has no access to", status: 404, body: `{"error":{"message":"The model gpt-9 does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`, want: ClassNotFound},
		{name: "a server that had an error", status: 500, body: `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`, want: ClassServerError},
		{name: "a slow_down under 503", status: 503, header: []string{"Retry-After: 20"}, body: `{"error":{"message":"Slow down","type":"rate_limit_error","code":"slow_down"}}`, want: ClassRamp, wait: "retry-after 20s"},
		// Anthropic.
		{name: "input tokens per minute with a time", status: 429, header: []string{"retry-after: 12", "anthropic-ratelimit-input-tokens-remaining: 0", "anthropic-ratelimit-input-tokens-reset: 2026-10-20T12:00:48Z"}, body: `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50,000 input tokens per minute."},"request_id":"req_9"}`, want: ClassRateLimit, wait: "retry-after 12s"},
		{name: "input and output beyond the context", status: 400, body: "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease input length or `max_tokens` and try again\"}}", want: ClassContextLength},
		{name: "a request that the edge finds too large", status: 413, body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, want: ClassTooLarge},
		{name: "own usage limits", status: 400, body: `{"error":{"message":"You have reached your specified API usage limits. You will regain access on 2026-11-01 at 00:00 UTC.","type":"invalid_request_error"},"type":"error"}`, want: ClassQuotaExhausted},
		{name: "a page under 529", status: 529, body: "<html><body>Overloaded</body></html>", want: ClassOverloaded},
		{name: "a token that lacks a scope", status: 403, body: `{"type":"error","error":{"type":"permission_error","message":"OAuth token does not meet scope requirement"}}`, want: ClassPermission},
		// Gemini and Vertex.
		{name: "a day of the free tier with seconds beside it", status: 429, body: `{"error":{"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota. Please retry in 31.5s.","code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31s"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}]}]}}`, want: ClassQuotaDaily},
		{name: "exhausted with no details", status: 429, body: `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, want: ClassRateLimit},
		{name: "exhausted at Vertex", status: 429, body: `[{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}]`, want: ClassRateLimit},
		{name: "an overloaded model", status: 503, body: `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, want: ClassOverloaded},
		{name: "a deadline", status: 504, body: `{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}`, want: ClassTimeout},
		{name: "a publisher model that is not there", status: 404, body: `{"error":{"code":404,"message":"Publisher Model projects/x was not found","status":"NOT_FOUND"}}`, want: ClassNotFound},
		{name: "RetryInfo as an object", status: 429, body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{"seconds":"9","nanos":500000000}}]}}`, want: ClassRateLimit, wait: "body.RetryInfo 9.5s"},
		// Bedrock.
		{name: "an input that is too long", status: 400, header: []string{"x-amzn-errortype: ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/"}, body: `{"message":"Input is too long for requested model."}`, want: ClassContextLength},
		{name: "too many tokens of a minute", status: 429, header: []string{"x-amzn-errortype: ThrottlingException"}, body: `{"message":"Too many tokens, please wait before trying again."}`, want: ClassRateLimit},
		{name: "a model timeout", status: 408, header: []string{"x-amzn-ErrorType: ModelTimeoutException"}, body: `{"message":"Model processing timed out"}`, want: ClassTimeout},
		// Azure.
		{name: "a rate in another region", status: 429, header: []string{"retry-after-ms: 650", "Retry-After: 1"}, body: `{"error":{"code":"RateLimitReached","message":"Your requests to gpt-y in East US have exceeded the token rate limit. Please retry after 1 second."}}`, want: ClassRateLimit, wait: "retry-after-ms 650ms"},
		{name: "high demand in words alone", status: 429, body: `{"error":{"code":"429","message":"We are currently experiencing high demand. Please retry your request later."}}`, want: ClassOverloaded},
		{name: "no capacity, by code", status: 429, body: `{"error":{"code":"NoCapacity","message":"There is no capacity for this model at the moment."}}`, want: ClassOverloaded},
		{name: "a rate of APIM", status: 429, body: `{"statusCode":429,"message":"Rate limit is exceeded. Try again in 17 seconds."}`, want: ClassRateLimit, wait: "body.message 17s"},
		{name: "a volume of APIM", status: 403, body: `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 03:12:01."}`, want: ClassQuotaExhausted},
		{name: "a wrong subscription key", status: 401, body: `{"statusCode":401,"message":"Access denied due to invalid subscription key or wrong API endpoint."}`, want: ClassAuth},
		// Groq, Mistral, Together, xAI.
		{name: "larger than the minute of a tier", status: 413, body: "{\"error\":{\"message\":\"Request too large for model `llama-y` in organization `org_z` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7100, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", want: ClassRequestExceedsLimit},
		{name: "tokens per day beside a Retry-After", status: 429, header: []string{"retry-after: 605"}, body: "{\"error\":{\"message\":\"Rate limit reached for model `llama-y` on tokens per day (TPD): Limit 100000, Used 99500, Requested 1200. Please try again in 10m4.8s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", want: ClassRateLimit, wait: "retry-after 10m5s"},
		{name: "a tool call that came out wrong", status: 400, body: `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x>{\"error\":\"rate limit\"}"}}`, want: ClassInvalidRequest},
		{name: "a model that was retired", status: 400, body: `{"error":{"message":"The model y has been decommissioned and is no longer supported.","type":"invalid_request_error","code":"model_decommissioned"}}`, want: ClassNotFound},
		{name: "a prompt too large for Mistral", status: 400, body: `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, want: ClassContextLength},
		{name: "a unit that may not be used", status: 422, body: `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]}`, want: ClassInvalidRequest},
		{name: "Together's context under 403", status: 403, body: "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`\",\"type\":\"invalid_request_error\"}}", want: ClassContextLength},
		{name: "xAI's rate", status: 429, body: `{"code":"Some resource has been exhausted","error":"Too many requests for team x and model grok-y. Your team's rate limit is - Requests per Second (actual/limit): 9/8."}`, want: ClassRateLimit},
		{name: "xAI's empty purse in other words", status: 403, body: `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/x."}`, want: ClassQuotaExhausted},
		{name: "xAI's bad key", status: 400, body: `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***9f. You can obtain an API key from https://console.x.ai."}`, want: ClassAuth},
		// Cohere, Fireworks, Perplexity.
		{name: "a trial key in a minute", status: 429, body: `{"id":"x","message":"You are using a Trial key, which is limited to 10 API calls / minute. You can continue to use the Trial key for free."}`, want: ClassRateLimit},
		{name: "a trial key in a month", status: 429, body: `{"message":"You are using a Trial key, which is limited to 1000 API calls / month. You can upgrade to a Production key."}`, want: ClassQuotaDaily},
		{name: "Cohere's prompt", status: 400, body: `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5008. Try using a shorter prompt."}`, want: ClassContextLength},
		{name: "a suspended account under 412", status: 412, body: `{"error":{"object":"error","type":"invalid_request_error","code":"invalid_request_error","message":"Account acme is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."}}`, want: ClassQuotaExhausted},
		{name: "Fireworks' prompt", status: 400, body: `{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 140000, model maximum context length: 131071"}}`, want: ClassContextLength},
		{name: "a page of Perplexity's under 401", status: 401, body: "<html>\r\n<head><title>401 Authorization Required</title></head>\r\n</html>", want: ClassAuth},
		{name: "Perplexity's rate", status: 429, body: `{"error":{"message":"Request rate limit exceeded, please try again later.","type":"requests_limit_exceeded","code":429}}`, want: ClassRateLimit},
		// OpenRouter.
		{name: "the provider's error in raw", status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"x\",\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\"}}","provider_name":"Azure"}},"user_id":"u"}`, want: ClassContextLength},
		{name: "the provider's words in raw", status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 201000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, want: ClassContextLength},
		{name: "the provider's time in raw", status: 429, body: `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"Rate limit reached. Please try again in 1.5s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}"}}}`, want: ClassRateLimit, wait: "body.message 1.5s"},
		{name: "more credits than there are", status: 402, body: `{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 2100.","code":402}}`, want: ClassQuotaExhausted},
		// Servers of one's own.
		{name: "vLLM's context", status: 400, body: `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).","type":"BadRequestError","param":null,"code":400}`, want: ClassContextLength},
		{name: "vLLM's prompt", status: 400, body: `{"error":{"message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","code":400}}`, want: ClassContextLength},
		{name: "vLLM's model", status: 404, body: "{\"error\":{\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"code\":404}}", want: ClassNotFound},
		{name: "an Ollama model", status: 404, body: `{"error":"model \"llama9\" not found, try pulling it first"}`, want: ClassNotFound},
		{name: "an Ollama runner", status: 500, body: `{"error":"llama runner process has terminated: exit status 2"}`, want: ClassServerError},
		// LiteLLM and relays.
		{name: "a rate behind LiteLLM", status: 429, body: `{"error":{"message":"litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-y. Please try again in 1.2s. Received Model Group=fast","type":"throttling_error","param":"None","code":"429"}}`, want: ClassRateLimit, wait: "body.message 1.2s"},
		{name: "a budget of LiteLLM", status: 400, body: `{"error":{"message":"Budget has been exceeded! Current cost: 10.2, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`, want: ClassQuotaExhausted},
		{name: "no deployments", status: 429, body: `{"error":{"message":"No deployments available for selected model, Try again in 60 seconds. Passed model=fast.","type":"None","param":"None","code":"429"}}`, want: ClassRateLimit, wait: "body.message 1m0s"},
		{name: "a timeout behind LiteLLM", status: 408, body: `{"error":{"message":"litellm.Timeout: APITimeoutError - Request timed out.","type":null,"param":null,"code":"408"}}`, want: ClassTimeout},
		{name: "a saturated group", status: 429, body: `{"error":{"message":"当前分组上游负载已饱和，请稍后再试 (request id: 2026102012)","type":"rate_limit_error","param":"","code":"rate_limit_exceeded"}}`, want: ClassRateLimit},
		{name: "a saturated group whose upstream is out of money", status: 429, body: `{"error":{"message":"当前分组上游负载已饱和，请稍后再试","type":"insufficient_quota","param":"","code":"insufficient_quota"}}`, want: ClassQuotaExhausted},
		{name: "a user of a relay whose quota is used up", status: 403, body: `{"error":{"message":"用户额度不足, 剩余额度: ＄0.000000 (request id: x)","type":"new_api_error","param":"","code":"insufficient_user_quota"}}`, want: ClassQuotaExhausted},
		{name: "a token of a relay whose quota is used up, in words", status: 401, body: `{"error":{"message":"该令牌额度已用尽 (request id: x)","type":"one_api_error"}}`, want: ClassQuotaExhausted},
		{name: "a relay's bad token", status: 401, body: `{"error":{"message":"无效的令牌 (request id: x)","type":"one_api_error"}}`, want: ClassAuth},
		{name: "a relay that has no channel", status: 503, body: `{"error":{"code":"model_not_found","message":"分组 default 下模型 x 无可用渠道（distributor）","type":"new_api_error"}}`, want: ClassNotFound},
		{name: "a relay that cannot read the request", status: 500, body: `{"error":{"message":"field messages is required","type":"new_api_error","param":"","code":"invalid_request"}}`, want: ClassInvalidRequest},
		// Chinese hosts.
		{name: "Kimi's suspended account", status: 429, body: `{"error":{"type":"exceeded_current_quota_error","message":"您的账户余额不足，请充值后再试"}}`, want: ClassQuotaExhausted},
		{name: "Kimi's overload in words", status: 429, body: `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_busy"}}`, want: ClassOverloaded},
		{name: "Kimi's prompt", status: 400, body: `{"error":{"type":"invalid_request_error","message":"Invalid request: Your request exceeded model token limit: 131072"}}`, want: ClassContextLength},
		{name: "Kimi's concurrency", status: 429, body: `{"error":{"message":"Your account org-x request reached max organization concurrency: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}`, want: ClassRateLimit, wait: "body.message 1s"},
		{name: "GLM's rate in Chinese", status: 429, body: `{"error":{"code":"1302","message":"您的账户已达到速率限制，请您控制请求频率"}}`, want: ClassRateLimit},
		{name: "GLM's purse", status: 429, body: `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, want: ClassQuotaExhausted},
		{name: "GLM's week", status: 429, body: `{"error":{"code":"1310","message":"您已达到每周使用上限，您的限额将在 2026-10-27 00:00:00 重置。"}}`, want: ClassQuotaDaily},
		{name: "GLM's busy model", status: 429, body: `{"error":{"code":"1305","message":"该模型当前访问量过大，请您稍后再试"}}`, want: ClassOverloaded},
		{name: "Qwen's arrears", status: 400, body: `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","request_id":"x"}`, want: ClassQuotaExhausted},
		{name: "Qwen's inspection", status: 400, body: `{"code":"DataInspectionFailed","message":"Input data may contain inappropriate content.","request_id":"x"}`, want: ClassContentPolicy},
		{name: "Qwen's inspection in the form of OpenAI", status: 400, body: `{"error":{"code":"data_inspection_failed","param":null,"message":"x","type":"data_inspection_failed"},"request_id":"x"}`, want: ClassContentPolicy},
		{name: "Qwen's prompt", status: 400, body: `{"error":{"code":"invalid_parameter_error","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]","type":"invalid_request_error"}}`, want: ClassContextLength},
		{name: "Qwen's rate", status: 429, body: `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later.","request_id":"x"}`, want: ClassRateLimit},
		{name: "Qwen's free tier", status: 403, body: `{"code":"AllocationQuota.FreeTierOnly","message":"The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the use free tier only mode.","request_id":"x"}`, want: ClassQuotaExhausted},
		{name: "Qwen's bad key", status: 401, body: `{"code":"InvalidApiKey","message":"Invalid API-key provided.","request_id":"x"}`, want: ClassAuth},
		{name: "a bad key in camel case under 400", status: 400, body: `{"code":"InvalidApiKey","message":"x"}`, want: ClassAuth},
		{name: "a context in Chinese", status: 400, body: `{"error":{"message":"输入的上下文长度超过模型最大限制 32768 tokens","type":"invalid_request_error"}}`, want: ClassContextLength},
		{name: "SiliconFlow's tokens", status: 429, body: `{"message":"Request was rejected due to rate limiting. Details: TPM limit reached.","data":null}`, want: ClassRateLimit},
		{name: "SiliconFlow's timeout as a bare string", status: 504, body: `"The server is busy, timed out"`, want: ClassTimeout},
		{name: "DeepSeek's empty purse", status: 402, body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, want: ClassQuotaExhausted},
		{name: "DeepSeek's 503 in Chinese", status: 503, body: `{"error":{"message":"服务器繁忙，请稍后重试","type":"service_unavailable","code":"invalid_request_error"}}`, want: ClassOverloaded},
		// Edges.
		{name: "a challenge of Cloudflare's", status: 403, body: "<!DOCTYPE html><title>Just a moment...</title>", want: ClassPermission},
		{name: "a rate of Cloudflare's", status: 429, header: []string{"Retry-After: 30"}, body: "error code: 1015", want: ClassRateLimit, wait: "retry-after 30s"},
		{name: "an origin that is down", status: 521, body: "error code: 521", want: ClassGateway},
		{name: "a tunnel that is down", status: 530, body: "error code: 1033", want: ClassGateway},
		{name: "Envoy finds no host", status: 503, body: "no healthy upstream", want: ClassOverloaded},
		{name: "a page of a balancer", status: 502, body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>", want: ClassGateway},
		{name: "a page of nginx under 504", status: 504, body: "<html><center><h1>504 Gateway Time-out</h1></center></html>", want: ClassTimeout},
		// Days in words.
		{name: "a day in Chinese", status: 429, body: `{"error":{"message":"今日调用次数已达上限，请明日再试","type":"rate_limit"}}`, want: ClassQuotaDaily},
		{name: "a daily limit", status: 429, body: `{"error":{"message":"Daily request limit reached for this key.","type":"rate_limit_error"}}`, want: ClassQuotaDaily},
		{name: "a daily limit with a time", status: 429, header: []string{"Retry-After: 3"}, body: `{"error":{"message":"Daily request limit reached for this key.","type":"rate_limit_error"}}`, want: ClassRateLimit, wait: "retry-after 3s"},
		{name: "a day that the user wrote", status: 429, body: `{"error":{"message":"Rate limit hit by prompt 'limited to 10 calls per day'","type":"rate_limit_error"}}`, want: ClassRateLimit},
		// What sounds like one of these and is none.
		{name: "a budget of thought that is too small", status: 400, body: "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"thinking.enabled.budget_tokens: Input should be greater than or equal to 1024\"}}", want: ClassInvalidRequest},
		{name: "a balancer that is out of hosts", status: 429, body: `{"error":{"message":"The load balancer ran out of healthy targets"}}`, want: ClassRateLimit},
		{name: "a bill that cannot be looked up", status: 503, body: `{"error":{"code":"billing_service_unavailable","message":"x"}}`, want: ClassOverloaded},
		{name: "a question of money outside of JSON", status: 429, body: "insufficient funds? no: too many requests", want: ClassRateLimit},
		{name: "a minute and a day", status: 429, body: `{"error":{"message":"Rate limit reached. Limit: 3 / min and 200 / day."}}`, want: ClassRateLimit},
		{name: "a rate of the free tier", status: 429, body: `{"error":{"type":"free_tier_rate_limit","message":"Free tier users are limited to 5 calls per minute."}}`, want: ClassRateLimit},
		{name: "an own rate in times of high demand", status: 429, body: `{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Limits are lower due to high demand."}}`, want: ClassRateLimit},
		{name: "an account that was disabled", status: 403, body: `{"error":{"message":"Your account has been disabled. Contact support."}}`, want: ClassPermission},
		{name: "too many requests in camel case", status: 429, body: `{"error":{"code":"TooManyRequests","message":"Slow down."}}`, want: ClassRateLimit},
		{name: "a provider's purse behind a relay", status: 429, body: `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"x\"}}"}}}`, want: ClassRateLimit},
		{name: "a tool of too many tokens", status: 400, body: `{"error":{"message":"max_tokens must not exceed 8192.","type":"invalid_request_error"}}`, want: ClassInvalidRequest},
		// Waits.
		{name: "a negative time", status: 429, header: []string{"Retry-After: -5"}, want: ClassRateLimit},
		{name: "a time that has passed", status: 503, header: []string{"Retry-After: Tue, 20 Oct 2026 11:59:00 GMT"}, want: ClassOverloaded, wait: "retry-after 0s"},
		{name: "a fraction that is rounded up", status: 503, header: []string{"Retry-After: 0.0001"}, want: ClassOverloaded, wait: "retry-after 1ms"},
		{name: "a time beyond all", status: 429, header: []string{"Retry-After: 999999999999999999999999"}, want: ClassRateLimit, wait: "retry-after 2562047h47m16.854775807s"},
		{name: "a unit that is not allowed", status: 429, header: []string{"Retry-After: 5s"}, body: `{"error":{"message":"Please retry after 6s"}}`, want: ClassRateLimit, wait: "body.message 6s"},
		{name: "milliseconds with a fraction", status: 429, header: []string{"retry-after-ms: 12.25", "Retry-After: 1"}, want: ClassRateLimit, wait: "retry-after-ms 13ms"},
		{name: "a wait of words in hours and minutes", status: 429, body: `{"error":{"message":"Rate limited. Please try again in 1 hour 5 minutes."}}`, want: ClassRateLimit, wait: "body.message 1h5m0s"},
		{name: "a wait in Chinese minutes", status: 429, body: `{"error":{"message":"请求过多，请在2分钟后重试"}}`, want: ClassRateLimit, wait: "body.message 2m0s"},
		{name: "a wait as a string", status: 429, body: `{"error":{"message":"x","retry_after":"4"}}`, want: ClassRateLimit, wait: "body.retry_after 4s"},
		{name: "a wait in camel case", status: 429, body: `{"error":{"message":"x","retryAfter":4}}`, want: ClassRateLimit, wait: "body.retry_after 4s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Classify(Response{Status: tt.status, Header: headerOf(tt.header...), Body: []byte(tt.body), Now: fixtureTime})
			wait := ""
			if v.WaitSource != "" {
				wait = v.WaitSource + " " + v.Wait.String()
			}
			if v.Class != tt.want || wait != tt.wait || v.Retry != v.Class.Retryable() {
				t.Errorf("got %v by %q, retry %v, wait %q, want %v, %q", v.Class, v.Rule, v.Retry, wait, tt.want, tt.wait)
			}
		})
	}
}

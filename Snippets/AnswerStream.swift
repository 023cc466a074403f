// An answer of a language model, word by word: a POST whose response is a stream of events.

import Martlet
import MartletTesting

struct Question: Codable, Sendable {
  var model: String
  var prompt: String
  var stream = true
}

struct Piece: Codable, Sendable { var text: String }

func printAnswer(to prompt: String, from url: URL, in session: HTTPSession) async throws {
  let question = HTTPRequest(.post, url, body: try .json(Question(model: "wren", prompt: prompt)))
  for try await event in session.events(for: question) {
    if event.data == "[DONE]" { break }  // the service's own end
    print(try JSONDecoder().decode(Piece.self, from: Data(event.data.utf8)).text)
  }
}

let events = ["A wren", "has a loud song."].map { "data: {\"text\": \"\($0)\"}\n\n" }
// The section openai-stream of server-fields.txt.
let fields: HTTPFields = [
  "Content-Type": "text/event-stream", "openai-model": "gpt-3.5-turbo-0613", "openai-organization": "example",
  "openai-processing-ms": "516", "openai-version": "2020-10-01", "x-ratelimit-limit-requests": "200",
  "x-ratelimit-limit-tokens": "40000", "x-ratelimit-remaining-requests": "199",
  "x-ratelimit-remaining-tokens": "39940", "x-ratelimit-reset-requests": "7m12s", "x-ratelimit-reset-tokens": "90ms",
  "x-request-id": "req_1",
]
let server = try LoopbackServer { request in
  guard request.method == .post else { return .status(.methodNotAllowed) }
  return Reply(fields: fields, content: Data((events.joined() + ": keep-alive\n\ndata: [DONE]\n\n").utf8))
}

let session = HTTPSession()
try await printAnswer(to: "What does a wren sound like?", from: server.url("/v1/answers"), in: session)
print(server.requests.map { "\($0.method) \($0.path) \($0.fields[.accept] ?? "")" })

// Prints:
// A wren
// has a loud song.
// ["POST /v1/answers text/event-stream"]

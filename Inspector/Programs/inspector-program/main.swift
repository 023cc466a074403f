import Martlet
@_spi(Toolkit) import MartletInspector
import MartletObservation
import MartletTesting
import MartletWebSocket
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// A program with an inspector, for `make check-page`. It makes calls of each kind, prints the URL of the page, and then
// more calls at each line of its input: "one" makes one, "many" 2,000, "slow" one that never ends, "get URL FILE" one
// to a server whose authority is in the file. "archive" shows the calls as an archive and prints the URL of that page.

let picture = Data(
  base64Encoded:
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFklEQVR4nGP4z8CAFTFgFQWiwSxBjA4Ai5A/wVwW5XMAAAAASUVORK5CYII=")
/// "compressed ", 200 times.
let compressed = Data(
  base64Encoded: "H4sIAAAAAAACA0vOzy0oSi0uTk1RSB5ljjJHmaPMUeYoc5Q5yhxIJgAV7L4umAgAAA==")
let hostile = """
  <script>window.hacked = 1; document.title = 'hacked'</script><img src=x onerror="window.hacked=1">\u{1B}[31mred\u{202E}gpj.exe
  """
let isFirst = Atomic(true)
let server = try LoopbackServer { request in
  switch request.path {
  case "/old": .redirect(to: "/new", status: .movedPermanently)
  case "/new": .json(#"{"orders": [{"id": 1, "password": "hidden-secret", "name": "Anna"}]}"#)
  case "/flaky":
    isFirst.exchange(false, ordering: .relaxed) ? .status(.serviceUnavailable) : .text("now it works")
  case "/cached": Reply.text("kept for an hour").with(.cacheControl, "max-age=3600")
  case "/private" where request.fields[.authorization] == "Bearer second": .text("private")
  case "/private": .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  case "/cookies":
    Reply.text("cookies").with(.setCookie, "good=1; Path=/").with(.setCookie, "bad=1; Domain=example.com")
  case "/hostile":
    Reply(
      fields: [.contentType: "text/html", "X-Evil": "<script>window.hacked=1</script>"], content: Data(hostile.utf8))
  case "/names": .json(#"{"__proto__": {"constructor": 12345678901234567890}, "price": 1.00}"#)
  case "/xml": Reply(fields: [.contentType: "application/xml"], content: Data("<a><b>1</b><c/></a>".utf8))
  case "/picture": Reply(fields: [.contentType: "image/png"], content: picture ?? Data())
  case "/svg":
    Reply(
      fields: [.contentType: "image/svg+xml"],
      content: Data(#"<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"/>"#.utf8))
  case "/bytes": Reply(fields: [.contentType: "application/octet-stream"], content: Data((0...255).map { UInt8($0) }))
  case "/gzip":
    Reply(fields: [.contentType: "text/plain", .contentEncoding: "gzip"], content: compressed ?? Data())
  case "/events":
    Reply(
      fields: [.contentType: "text/event-stream"],
      content: Data("event: tick\ndata: 1\n\nevent: tick\ndata: 2\n\n".utf8))
  case "/never": Reply.text("the beginning").stalled(after: 3)
  case "/chat":
    .webSocket { socket in
      while let message = try socket.receive() { try socket.send(message) }
    }
  case "/broken": .hangUp
  case "/cut": Reply.text("the beginning of a longer text").truncated(after: 13)
  case "/tree":
    .json(
      #"{"list": [\#((0..<250).map(String.init).joined(separator: ", "))], "deep": {"a": {"b": {"c": {"d": [true, null]}}}}, "empty": {}}"#
    )
  case "/login": Reply(content: Data("user=anna&password=hidden-secret".utf8))
  default: .status(.notFound)
  }
}

var options = Inspector.Options()
options.callLimit = 2500
options.isAnnounced = false
let transport = SocketTransport()
options.allowsResending = true
if CommandLine.arguments.count > 1 { options.file = URL(filePath: CommandLine.arguments[1]) }
options.pools = { await transport.statistics() }
let inspector = try Inspector(options)

var configuration = SessionConfiguration()
configuration.listeners.append(inspector)
let recorder = HARRecorder()
configuration.listeners.append(recorder)
configuration.options.retryPolicy.limit = 2
configuration.options.retryPolicy.backoff = Backoff(base: .milliseconds(20))
configuration.credentials = [
  TokenSource(AccessToken("first"), for: .origin(of: server.url)) { _ in AccessToken("second") }
]
let session = HTTPSession(transport: transport, configuration: configuration)

func call(_ target: String, label: String? = nil, _ change: (inout HTTPRequest) -> Void = { _ in }) async {
  var request = HTTPRequest(.get, server.url(target))
  request.options.label = label
  change(&request)
  _ = try? await session.data(for: request)
}

func chat() async {
  guard let socket = try? await session.webSocket(for: HTTPRequest(.get, server.url("/chat"))) else { return }
  try? await socket.send(.string("hello <b>"))
  _ = try? await socket.receive()
  await socket.close()
}

await call("/old")
await call("/flaky", label: "flaky <i>label</i>")
await call("/cached")
await call("/cached")
await call("/private")
await call("/cookies")
await call("/hostile?q=%3Cscript%3E&access_token=hidden-secret")
for target in ["/names", "/xml", "/picture", "/svg", "/bytes", "/gzip", "/events", "/missing", "/broken"] {
  await call(target)
}
await call("/new") { request in
  request.method = .post
  request.fields[.contentType] = "application/json"
  request.body = .data(Data(#"{"it's": "\"quoted\"", "password": "hidden-secret"}"#.utf8))
}
await call("/form") { request in
  request.method = .put
  request.body = .form([("user", "anna"), ("password", "hidden-secret")])
}
await call("/cut?with=a-long-name-that-has-to-be-cut-in-a-narrow-list")
await call("/tree")
await call("/login") { request in
  request.method = .post
  request.body = .data(Data("<login><user>anna</user><password>hidden-secret</password></login>".utf8))
}
await chat()
// A call that waits for its first token, and one that waits for that call.
var waiting = configuration
waiting.credentials = [
  TokenSource(for: .origin(of: server.url)) { _ in
    try await Task.sleep(for: .milliseconds(40))
    return AccessToken("second")
  }
]
waiting.cache = HTTPCache()
let second = HTTPSession(transport: transport, configuration: waiting)
async let one = try? second.data(for: HTTPRequest(.get, server.url("/private?waits=1")))
async let other = try? second.data(for: HTTPRequest(.get, server.url("/private?waits=2")))
_ = await (one, other)
_ = try? await session.data(for: HTTPRequest(.get, "https://127.0.0.1:\(server.port)/tls"))

/// Writes a line at once, even to a pipe.
func tell(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}

var archives: [Inspector] = []
tell(inspector.url.absoluteString)
while let line = readLine() {
  let words = line.split(separator: " ").map(String.init)
  switch words[0] {
  case "one": await call("/new?one")
  case "archive":
    archives.append(try Inspector(showing: recorder.har, options))
    tell(archives[0].url.absoluteString)
  case "many": for number in 1...2000 { await call("/new?number=\(number)") }
  case "slow": Task { @concurrent in await call("/never") }
  case "get":
    var connection = ConnectionConfiguration()
    connection.tls.authorities = URL(filePath: words[2])
    let session = HTTPSession(connection: connection, configuration: configuration)
    _ = try? await session.data(for: HTTPRequest(.get, words[1]))
  default: break
  }
  tell("done")
}

import Martlet

// A custom source of credentials, on the public API alone.
struct KeySource: CredentialSource {
  let scope = CredentialScope.matching { $0.host == "127.0.0.1" }

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    var request = request
    request.fields["X-Key"] = request.origin.map { "key of \($0)" }
    return request
  }
}

guard let url = URL(string: CommandLine.arguments[1]) else { fatalError("not a URL: \(CommandLine.arguments[1])") }
var configuration = SessionConfiguration()
configuration.credentials = [KeySource()]
let session = HTTPSession(configuration: configuration)
let (data, response) = try await session.data(for: HTTPRequest(.get, url))
print(response.status.code, data.count)

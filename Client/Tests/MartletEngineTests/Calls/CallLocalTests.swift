import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Values that interceptors keep for a call")
struct CallLocalTests {
  /// Makes a request in the same session before every request.
  private struct Asking: Interceptor {
    let tokens = SharedWork<String, String>()

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      guard let session = call.session else { return .send(request) }
      var request = request
      request.fields["X-Token"] = try await tokens.value(for: "token") {
        let question = HTTPRequest(.get, url("http://a.example/token"))
        let (data, _) = try await Task { try await session.data(for: question) }.value
        return String(decoding: data, as: UTF8.self)
      }
      return .send(request)
    }
  }

  @Test func aLocalIsKeptWithinItsCallOnly() {
    let local = CallLocal(0)
    let other = CallLocal(0)
    let first = Call()

    first[local] = 1

    #expect(first[local] == 1)
    #expect(first[other] == 0)
    #expect(Call()[local] == 0)
  }

  @Test func anInterceptorMayUseItsOwnSession() async throws {
    let transport = MockTransport { request in
      request.url.path == "/token" ? .text("secret") : .text(request.fields["X-Token"] ?? "none")
    }
    var configuration = SessionConfiguration()
    configuration.interceptors = [Asking()]
    let session = HTTPSession(transport: transport, configuration: configuration)

    let (data, _) = try await session.data(for: HTTPRequest(.get, origin))

    #expect(String(decoding: data, as: UTF8.self) == "secret")
  }
}

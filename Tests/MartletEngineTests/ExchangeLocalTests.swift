import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("What an interceptor keeps for itself")
struct ExchangeLocalTests {
  /// Asks the session it serves before every request, and would wait for itself if it did not step aside.
  private struct Asking: Interceptor {
    let stepAside = StepAside()

    func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
      guard !stepAside.isActive, let session = exchange.session else { return request }
      var request = request
      let question = HTTPRequest(.get, url("http://a.example/token"))
      let (data, _) = try await stepAside.perform { try await Task { try await session.data(for: question) }.value }
      request.fields["X-Token"] = String(decoding: data, as: UTF8.self)
      return request
    }
  }

  @Test func aLocalIsRememberedWithinItsExchangeOnly() {
    let local = ExchangeLocal(0)
    let other = ExchangeLocal(0)
    let first = Exchange()

    first[local] = 1

    #expect(first[local] == 1)
    #expect(first[other] == 0)
    #expect(Exchange()[local] == 0)
  }

  @Test func anInterceptorMayAskTheSessionThatItServes() async throws {
    let transport = MockTransport { request in
      request.url.path == "/token" ? .text("secret") : .text(request.fields["X-Token"] ?? "none")
    }
    var configuration = SessionConfiguration()
    configuration.interceptors = [Asking()]
    let session = HTTPSession(transport: transport, configuration: configuration)

    let (data, _) = try await session.data(for: HTTPRequest(.get, origin))

    #expect(String(decoding: data, as: UTF8.self) == "secret")
  }

  @Test func theMarkOfOneIsNotThatOfAnother() async {
    let one = StepAside()
    let two = StepAside()

    await one.perform {
      #expect(one.isActive && !two.isActive)
      await two.perform { #expect(one.isActive && two.isActive) }
    }

    #expect(!one.isActive)
  }
}

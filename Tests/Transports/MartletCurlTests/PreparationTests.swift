import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// Failures before a request is sent.
@Suite(.timeLimit(.minutes(5)))
struct PreparationTests {
  private final class Source: BodySource {
    let isOpen = Mutex(false)
    let isCancelled = Mutex(false)
    var trailers: HTTPFields { [:] }
    func next() async throws -> Data? { nil }
    func cancel() { isCancelled.withLock { $0 = true } }
  }

  private func failure(_ source: Source, _ change: (inout CurlConfiguration) -> Void) async throws -> HTTPError? {
    let server = try LoopbackServer { _ in .text("hello") }
    var configuration = CurlConfiguration()
    change(&configuration)
    let open: @Sendable () async throws -> OpenBody = {
      source.isOpen.withLock { $0 = true }
      return OpenBody(source: source, length: nil)
    }
    let request = HTTPRequest(.post, server.url, body: RequestBody(.made(open), length: nil))
    do throws(HTTPError) {
      _ = try await HTTPSession(transport: CurlTransport(configuration)).data(for: request)
      return nil
    } catch { return error }
  }

  /// libcurl refuses texts of more than 8,000,000 bytes.
  @Test func aRefusedOptionCancelsTheOpenedBody() async throws {
    let source = Source()
    let pin = String(repeating: "a", count: 8_000_001)

    #expect(try await failure(source) { $0.tls.pinnedPublicKeys = [pin] }?.kind == .invalidRequest)

    #expect(source.isOpen.withLock { $0 })
    #expect(source.isCancelled.withLock { $0 })
  }
}

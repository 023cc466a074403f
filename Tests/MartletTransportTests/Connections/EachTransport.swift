import MartletEngine
import Testing

extension TestedTransport {
  /// The transport of the test that is running; see ``EachTransport``.
  @TaskLocal static var current = TestedTransport.curl
}

/// Runs each test of a suite with the transports that manage their connections themselves, one after another, because they
/// make the same decisions about them.
struct EachTransport: TestTrait, SuiteTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    for transport in [TestedTransport.curl, .sockets] {
      await TestedTransport.$current.withValue(transport) {
        do { try await function() } catch {
          Issue.record(error, "over \(transport.testDescription)")
        }
      }
    }
  }
}

extension Trait where Self == EachTransport {
  /// Runs each test over libcurl and over sockets.
  static var overEachConnectingTransport: Self { EachTransport() }
}

extension HTTPSession {
  /// Returns a session without a cache.
  static func uncached(_ transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }
}

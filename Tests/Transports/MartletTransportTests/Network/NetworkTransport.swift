import Glibc
import MartletCurl
import MartletEngine
import MartletSockets
import Testing

/// Runs a test twice: over libcurl and over sockets. `makeTransport` makes the transport of the run; an issue names it.
struct OverEachNetworkTransport: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    for tested in [TestedTransport.curl, .sockets] {
      let naming = IssueHandlingTrait.compactMapIssues { issue in
        var issue = issue
        issue.comments.append("over \(tested)")
        return issue
      }
      try await TestedTransport.$current.withValue(tested) {
        try await naming.provideScope(for: test, testCase: testCase) {
          do {
            try await function()
          } catch {
            Issue.record(error)  // not thrown, so that the other transport is tested too
          }
        }
      }
    }
  }
}

extension Trait where Self == OverEachNetworkTransport {
  /// Runs each test over libcurl and over sockets.
  static var overCurlAndSockets: Self { OverEachNetworkTransport() }
}

/// Makes the transport of this run of the test.
func makeTransport(_ connection: ConnectionConfiguration = .init()) -> any Transport {
  TestedTransport.current.makeTransport(connection)
}

extension HTTPSession {
  /// Makes a session without a cache, over the transport of this run of the test: files that nginx serves become
  /// cacheable as they grow older.
  static func uncached(_ connection: ConnectionConfiguration = .init()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: makeTransport(connection), configuration: configuration)
  }
}

/// Returns the descriptors of this process whose sockets are connected to a port over IPv4.
func openConnections(to port: Int) -> [Int32] {
  (0..<10_000).filter { descriptor in
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return result == 0 && address.sin_family == sa_family_t(AF_INET)
      && Int(UInt16(bigEndian: address.sin_port)) == port
  }
}

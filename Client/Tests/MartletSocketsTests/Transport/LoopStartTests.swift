#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// The start of a transport's thread.
@Suite(.timeLimit(.minutes(5)))
struct LoopStartTests {
  private static func thread() throws(HTTPError) -> LoopThread {
    let configuration = ConnectionConfiguration()
    let options = ConnectionOptions.self
    let rules = try AddressRules(checking: configuration.addressPolicy)
    return try LoopThread(
      configuration, options.init(SocketTransport.Options(), rules), ConnectionSecurity(configuration),
      ProxyAuthentications())
  }

  @Test func aStartThatFailedIsTriedAgain() throws {
    let attempts = Counter()
    let start = LoopStart { () throws(HTTPError) in
      guard attempts.next() > 2 else { throw HTTPError(.other, "no descriptor is left") }
      return try Self.thread()
    }
    let error = #expect(throws: HTTPError.self) { try start.get() }
    #expect(error?.message == "no descriptor is left")
    let thread = try start.get()
    #expect(try start.get() === thread)
    #expect(attempts.next() == 4)
  }
}
#endif

#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Texts of URLs, with the outcome of the URL Standard and of other clients. The host that one program checks must be
/// the one to which another connects.
@Suite(.timeLimit(.minutes(5)))
struct URLTableTests {
  @Test func everyTextIsSentToTheHostThatWasMeantOrRefused() async throws {
    let observer = try URLObserver()
    for row in URLRow.table.urls {
      #expect(try await observer.outcome(of: row.url) == row.expect, "\(row.url.debugDescription)")
    }
  }

  @Test func everyDifferenceFromTheStandardHasAReason() {
    #expect(URLRow.table.urls.count >= 150)
    #expect(Set(URLRow.table.clients.keys) == ["whatwg", "curl", "httpx"])
    #expect(Set(URLRow.table.urls.map { Array($0.url.utf8) }).count == URLRow.table.urls.count)
    for row in URLRow.table.urls {
      #expect(Set(row.observed.keys) == Set(URLRow.table.clients.keys))
      #expect((row.observed["whatwg"] == .some(row.expect)) == (row.why == nil), "\(row.url.debugDescription)")
    }
  }

  @Test func pathsGoOutAsTheyAreIfTheCallerAsksForThat() async throws {
    let observer = try URLObserver()
    for target in ["/api/../admin", "/./b", "/b/%2e%2E/c", "/.."] {
      let sent = try await observer.outcome(of: "http://127.1\(target)") { $0.keepsDotSegments = true }
      #expect(sent == "http://127.0.0.1\(target)")
    }
  }

  @Test(arguments: ["127.1", "0x7f000001", "2130706433", "0177.1", "127.0.0.1.", "127.0.0.1", "１２７.1"])
  func everyNotationOfAnAddressIsConnectedToAndNamedAlike(host: String) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = HTTPSession(transport: SocketTransport())
    _ = try await session.data(for: HTTPRequest(.get, "http://\(host):\(server.port)/"))
    #expect(server.requests.map { $0.fields[.host] } == ["127.0.0.1:\(server.port)"])
  }

  @Test(arguments: ["bu\u{308}cher.example", "bücher.example", "BÜCHER.example", "xn--bcher-kva.example"])
  func everyNotationOfANameIsConnectedToAndNamedAlike(host: String) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    var options = SocketTransport.Options()
    for override in ["bu\u{308}cher.example", "Bücher.example:\(server.port)", "XN--bcher-kva.example"] {
      options.addresses = [override: ["127.0.0.1"]]
      let session = HTTPSession(transport: SocketTransport(options: options))
      _ = try await session.data(for: HTTPRequest(.get, "http://\(host):\(server.port)/"))
    }
    let name = "xn--bcher-kva.example:\(server.port)"
    #expect(server.requests.map { $0.fields[.host] } == [name, name, name])
  }

  @Test(arguments: [
    ("http://[127.0.0.1]/", "brackets"), ("http://a:18446744073709551696/", "18446744073709551696"),
    ("http://a%3A80/", "a%3A80"), ("http:\\\\a\\b", "backslash"), ("http://a\\@b/", "backslash"),
    ("http://xn--a/", "international"), ("http://[::-0]/", "IPv6"), ("http://1.2.3.4.5/", "IPv4"),
  ])
  func anErrorNamesWhatIsWrong(url: String, culprit: String) async throws {
    let session = HTTPSession(transport: SocketTransport())
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, url)) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains(culprit) == true, "\(error?.message ?? "")")
  }

  /// Randomly changed texts: whatever the result, there is one host, or none and an error.
  @Test(arguments: 0..<4)
  func mutatedTextsHaveOneHostOrNone(part: Int) async throws {
    let observer = try URLObserver()
    let texts = URLRow.table.urls.map { Array($0.url.utf8) }
    var sent = 0
    for number in 0..<500 {
      var random = SeededGenerator(seed: UInt64(part * 500 + number))
      let base = try #require(texts.randomElement(using: &random))
      let text = String(decoding: Mutation.mutated(base, from: texts, using: &random), as: UTF8.self)
      // a tunnel is not a request, and a name that is looked up elsewhere says nothing
      guard HTTPRequest(.get, text).origin?.isSecure != true else { continue }
      if let url = try await observer.outcome(of: text) {
        sent += 1
        #expect(DotSegments.removed(from: url.dropFirst(7).drop { $0 != "/" }.prefix { $0 != "?" }) == nil)
      }
    }
    #expect(sent > 50, "almost all texts are refused: is anything compared?")
  }
}
#endif

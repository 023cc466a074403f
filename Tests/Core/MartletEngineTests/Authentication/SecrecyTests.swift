import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// No description, mirror, event or error contains a password, a token or anything computed from them.
@Suite(.timeLimit(.minutes(5)))
struct SecrecyTests {
  /// Returns everything that a program prints of a value with its description or a dump.
  private static func shown(_ value: Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    return "\(value)\n\(String(reflecting: value))\n\(dumped)"
  }

  private final class Everything: EventListener {
    private let text = Mutex("")
    var shown: String { text.withLock { $0 } }

    func receive(_ event: Event, in call: Call) {
      let shown = SecrecyTests.shown(event) + SecrecyTests.shown(call)
      text.withLock { $0 += shown }
    }
  }

  @Test(arguments: ["Basic realm=r", "Digest realm=r, nonce=n, qop=auth", "Bearer error=invalid_token"])
  func descriptionsContainNoSecrets(_ challenge: String) async throws {
    let listener = Everything()
    let sent = Mutex<[String]>([])
    var configuration = SessionConfiguration()
    configuration.listeners = [listener]
    configuration.credentials = [
      TokenSource(AccessToken("hidden", refreshToken: "hidden"), for: .matching { $0.host == "b.example" }) { _ in
        AccessToken("hidden too")
      },
      PasswordSource(Credential(user: "hidden", password: "hidden"), for: .any),
    ]
    let session = HTTPSession(
      transport: MockTransport { request in
        let value = request.fields[.authorization] ?? ""
        sent.withLock { $0.append(value) }
        return request.url.path == "/fail" && !value.isEmpty
          ? .failure(HTTPError(.connectionLost, "gone")) : .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
      }, configuration: configuration)

    var shown = Self.shown(configuration) + Self.shown(session)
    for text in [
      "http://hidden:hidden@a.example/", "http://b.example/", "http://b.example/fail", "http://hidden@a.example/fail",
    ] {
      let request = HTTPRequest(.get, url(text))
      shown += Self.shown(request)
      do { shown += Self.shown(try await session.data(for: request).1) } catch { shown += Self.shown(error) }
    }
    shown += listener.shown

    let responses = sent.withLock { $0 }.flatMap { $0.split(separator: " ").dropFirst() }
      .filter { $0.hasPrefix("response=") || !$0.contains("=\"") && $0.count > 12 }
    #expect(shown.contains("http://a.example/fail"))
    #expect(sent.withLock { $0 }.contains { !$0.isEmpty })
    #expect(!shown.contains("hidden"))
    #expect(challenge.hasPrefix("Bearer") || !responses.isEmpty)
    #expect(responses.allSatisfy { !shown.contains($0) })
  }

  @Test func theDumpOfABodyDoesNotContainItsBytes() {
    var dumped = ""
    dump(HTTPRequest(.post, origin, body: .data(Data("hidden".utf8))), to: &dumped)
    let lines = dumped.split(separator: "\n")
    #expect(!lines.contains { $0.hasSuffix("- 104") })
    #expect(lines.contains { $0.contains("a body of 6 bytes") })
  }
}

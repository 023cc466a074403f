import MartletEngine
import MartletObservation
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletServer

/// The server of the page. It refuses requests that do not come from its own page.
final class InspectorServer: Sendable {
  let url: URL
  private let server: LoopbackServer
  private let log: CallLog
  private let resender = Resender()

  /// The limits leave room for a few pages. A page that does not read is disconnected.
  private static let limits = LoopbackServer.Limits(
    connections: 32, headTime: .seconds(30), bodyTime: .seconds(10), sendTime: .seconds(20), heldBytes: 1 << 20)

  init(_ log: CallLog, port: Int, isLive: Bool) throws(HTTPError) {
    self.log = log
    let key = InspectorKey()
    do {
      let limit = Self.bodyLimit(log)
      var limits = Self.limits
      limits.heldBytes = max(limits.heldBytes, limit)
      server = try LoopbackServer(port: port, bodies: .collected(upTo: limit), limits: limits) { [resender] port in
        let (check, routes) = (RequestCheck(port: port, key), InspectorRoutes(log, resender, isLive: isLive))
        return { check.refusal($0.received) ?? routes.reply(to: $0.received) }
      }
    } catch {
      throw HTTPError(.other, "the inspector cannot start: \(error)")
    }
    guard let url = URL(string: "http://127.0.0.1:\(server.port)/#\(key.text)") else {
      throw HTTPError(.other, "the inspector has no valid URL")
    }
    self.url = url
  }

  /// The maximum number of bytes of a request's body. An edited request comes as JSON, in which a character may take
  /// six.
  private static func bodyLimit(_ log: CallLog) -> Int {
    log.allowsResending ? 8 * (min(log.bodyLimit, 16 << 20) + (64 << 10)) : 4096
  }

  /// Ends the log, and with it every stream of changes, the requests that are sent again, and the server.
  func stop() {
    log.close()
    resender.close()
    server.stop()
  }
}

/// The random key in the fragment of the URL, which browsers do not send: only a page that was opened with it has it.
struct InspectorKey: Sendable {
  let text: String

  /// Makes a key of 128 random bits.
  init() { text = RandomIdentifier.make() }

  /// Compares in a time that does not depend on where the texts differ.
  func matches(_ other: String) -> Bool {
    let (left, right) = (Array(text.utf8), Array(other.utf8))
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

/// Decides whether a request may be answered.
struct RequestCheck: Sendable {
  static let keyField: FieldName = "Inspector-Key"
  private let authority: String
  private let key: InspectorKey

  init(port: Int, _ key: InspectorKey) { (authority, self.key) = ("127.0.0.1:\(port)", key) }

  /// Returns why a request is not answered; nil if it may be.
  func refusal(_ request: ReceivedRequest) -> Reply? {
    // Any other name may belong to a foreign site that resolves it to this machine (DNS rebinding).
    guard request.fields[values: .host] == [authority] else {
      return refuse(.misdirectedRequest, "this server is \(authority)")
    }
    let origins = request.fields[values: "Origin"]
    guard origins.isEmpty || origins == ["http://\(authority)"] else {
      return refuse(.forbidden, "another site asks")
    }
    let sites = request.fields[values: "Sec-Fetch-Site"]
    guard sites.allSatisfy({ $0 == "same-origin" || $0 == "none" }) else {
      return refuse(.forbidden, "another site asks")
    }
    guard request.method == .get || request.method == .post else {
      return refuse(.methodNotAllowed, "only GET and POST")
    }
    // The page itself has no calls in it, and cannot send the key before it runs.
    if request.target == "/", request.method == .get { return nil }
    guard let sent = request.fields[Self.keyField], key.matches(sent) else {
      return refuse(.unauthorized, "the key is missing or wrong: open the URL that the inspector printed")
    }
    return nil
  }

  private func refuse(_ status: HTTPStatus, _ reason: String) -> Reply {
    var reply = Reply.text(reason + "\n", status: status)
    InspectorRoutes.protect(&reply, policy: InspectorRoutes.noContent)
    return reply.closing()
  }
}

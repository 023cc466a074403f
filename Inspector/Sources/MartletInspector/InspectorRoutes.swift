@_spi(Toolkit) import MartletEngine
import MartletObservation
import MartletSemantics
import MartletServer

/// Answers the requests that the server has admitted.
struct InspectorRoutes: Sendable {
  private let log: CallLog
  private let resender: Resender
  private let isLive: Bool

  init(_ log: CallLog, _ resender: Resender, isLive: Bool) {
    (self.log, self.resender, self.isLive) = (log, resender, isLive)
  }

  func reply(to request: ReceivedRequest) -> Reply {
    var reply = answer(request)
    if request.target != "/" { Self.protect(&reply, policy: Self.noContent) }
    return reply
  }

  /// The policy for bodies: they may load, run and style nothing, even if a browser is made to display one.
  static let noContent = "default-src 'none'; sandbox; frame-ancestors 'none'"

  /// Adds the fields that keep a browser from guessing the type of a reply, storing it, showing it in other sites'
  /// frames, and passing on its URL.
  static func protect(_ reply: inout Reply, policy: String) {
    reply.fields["Content-Security-Policy"] = policy
    reply.fields["X-Content-Type-Options"] = "nosniff"
    reply.fields["Referrer-Policy"] = "no-referrer"
    reply.fields["Cross-Origin-Resource-Policy"] = "same-origin"
    reply.fields["Cross-Origin-Opener-Policy"] = "same-origin"
    reply.fields[.cacheControl] = "no-store"
  }

  private func answer(_ request: ReceivedRequest) -> Reply {
    let parts = request.path.split(separator: "/").map(String.init)
    switch (request.method, parts.first, parts.count) {
    case (.get, nil, _): return InspectorPage.reply()
    case (.get, "changes", 1): return ChangeStream.reply(log, isLive: isLive)
    case (.get, "archive", 1): return archive()
    case (.get, "search", 1): return search(request.query)
    case (.get, "calls", 2): return call(parts[1]).map { json(CallDetails($0, log)) } ?? Self.noCall
    case (.get, "calls", 3) where parts[2] == "edit":
      guard let repetition = call(parts[1])?.repetition else { return Self.noCall }
      return json(EditedRequest(repetition.request, log.redaction))
    case (.get, "calls", 4): return body(parts)
    case (.post, "clear", 1):
      log.clear()
      return .status(.noContent)
    case (.post, "pin", 2), (.post, "unpin", 2):
      guard let id = UInt64(parts[1]) else { return Self.noCall }
      log.pin(id, parts[0] == "pin")
      return .status(.noContent)
    case (.post, "resend", 2): return resend(parts[1], request)
    default: return Self.noPage
    }
  }

  private static let noCall = Reply.text("there is no such call; the log may have dropped it\n", status: .notFound)
  private static let noBody = Reply.text("the call has no such body\n", status: .notFound)
  private static let noPage = Reply.text("there is no such page\n", status: .notFound)

  private func call(_ text: String) -> RecordedCall? { UInt64(text).flatMap { log.call($0) } }

  /// `calls/7/1/response`: the bytes of a body of the seventh call's first attempt.
  private func body(_ parts: [String]) -> Reply {
    guard let call = call(parts[1]) else { return Self.noCall }
    let attempts = call.snapshot.attempts(of: call, log)
    guard let number = Int(parts[2]), number > 0, number <= attempts.count,
      let entry = attempts[number - 1].entry(log.redaction)
    else { return Self.noBody }
    let bytes: Data?
    switch parts[3] {
    case "request": bytes = entry.request.postData?.bytes
    case "response": bytes = entry.response.content.bytes
    default: return Self.noBody
    }
    return Reply(fields: [.contentType: "application/octet-stream"], content: bytes ?? Data())
  }

  private func archive() -> Reply {
    let entries = log.state.calls.flatMap { call in
      call.snapshot.attempts(of: call, log).compactMap { $0.entry(log.redaction) }
    }
    let creator = HAR.Creator(name: "Martlet", version: Release.version)
    let sorted = entries.sorted { $0.startedDateTime < $1.startedDateTime }
    guard let bytes = try? HAR(log: HAR.Log(creator: creator, entries: sorted)).json() else {
      return .text("the calls cannot be encoded\n", status: .internalServerError)
    }
    return Reply(fields: [.contentType: "application/json"], content: bytes)
  }

  /// Sends a call again, as it was or as the page has edited it.
  private func resend(_ id: String, _ received: ReceivedRequest) -> Reply {
    guard log.allowsResending else {
      return .text("this inspector sends nothing: set its allowsResending\n", status: .forbidden)
    }
    // A browser sends it with every POST: a page of another site has another one, and other programs have no key.
    guard received.fields.contains("Origin") else { return .text("the origin is missing\n", status: .forbidden) }
    guard let call = call(id), let repetition = call.repetition else { return Self.noCall }
    if let obstacle = repetition.obstacle {
      return .text("the call cannot be sent again: \(obstacle)\n", status: .conflict)
    }
    guard let session = repetition.session else {
      return .text("the program has no longer the session of this call\n", status: .conflict)
    }
    var request = repetition.request
    if !received.body.isEmpty {
      guard let edited = try? JSONDecoder().decode(EditedRequest.self, from: received.body) else {
        return .text("the edited request cannot be read\n", status: .badRequest)
      }
      do { request = try edited.applied(to: request, log.redaction) } catch {
        return .text("not sent: \(error.reason)\n", status: .unprocessableContent)
      }
    }
    request.options.label = "resent"
    guard resender.send(request, through: session) else {
      return .text("\(Resender.limit) requests that were sent again are still in progress\n", status: .tooManyRequests)
    }
    return .status(.accepted)
  }

  /// The numbers of the calls that contain all of the texts: in URLs, fields, messages and bodies that are text,
  /// without secrets. With `calls=7,8`, only these are searched.
  private func search(_ query: String?) -> Reply {
    let pairs = PercentEncoding.form.pairs(in: query ?? "")
    let wanted = pairs.filter { $0.name == "text" && !$0.value.isEmpty }.map { $0.value.lowercased() }
    guard !wanted.isEmpty else { return json([UInt64]()) }
    let scope = pairs.first { $0.name == "calls" }.map { Set($0.value.split(separator: ",").compactMap { UInt64($0) }) }
    let found = log.state.calls.filter { scope?.contains($0.id) ?? true }.filter { call in
      let texts = call.snapshot.attempts(of: call, log).flatMap { $0.entry(log.redaction)?.texts ?? [] }
      return wanted.allSatisfy { wanted in texts.contains { $0.contains(wanted) } }
    }
    return json(found.map(\.id))
  }

  private func json(_ value: some Encodable) -> Reply {
    guard let bytes = try? JSONEncoder().encode(value) else {
      return .text("the call cannot be encoded\n", status: .internalServerError)
    }
    return Reply(fields: [.contentType: "application/json"], content: bytes)
  }
}

extension HAR.Entry {
  /// The texts in which is searched, in lower case.
  fileprivate var texts: [String] {
    let fields = (request.headers + response.headers).map { "\($0.name): \($0.value)" }
    let messages = (webSocketMessages ?? []).map(\.data)
    let bodies = [request.postData?.bytes, response.content.bytes].compactMap { bytes in
      bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }
    return ([request.url] + fields + messages + bodies + [response.error].compactMap(\.self)).map { $0.lowercased() }
  }
}

@_spi(Toolkit) import MartletSemantics

/// Adds the cookies of the jar to requests, and stores those of responses, for every request of a redirect chain.
///
/// Cookies are stored only from a head that this call received over the network: a cached response must not set old
/// cookies again. Cookies of informational responses are ignored, as RFC 6265bis §5.6 allows.
struct CookieTransport: Transport, DeadlineAware {
  let base: any Transport
  let jar: CookieJar
  var endsAtDeadline: Bool { jar.endsAtDeadline && Deadline.isKept(by: base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard request.options.handlesCookies else { return try await base.send(request, in: call) }
    let line =
      if let line = immediateLine(for: request) { usable(line, in: call) } else {
        await laterLine(for: request, in: call)
      }
    var sent = request
    if let line, !line.isEmpty { sent.fields.append(contentsOf: line) }
    var response = try await base.send(sent, in: call)
    response.sentCookies = line
    if response.networkHead?.fields.contains(.setCookie) == true { await store(from: response, to: request, in: call) }
    return response
  }

  /// Returns the jar of the request's partition.
  private func jar(for request: HTTPRequest) -> CookieJar {
    request.options.partition.isEmpty ? jar : jar.partition(request.options.partition)
  }

  private static func context(of request: HTTPRequest) -> Cookie.Context {
    var context = request.options.cookieContext
    context.method = request.method
    return context
  }

  private static func note(on line: CookieLine) -> String {
    let (count, length) = (CookieList.countLimit, CookieList.lineLimit)
    return
      "\(line.omitted) cookies for this URL were not sent, because servers accept at most \(count), and a line of at "
      + "most \(length) bytes: remove some from the jar"
  }

  // `@inline(never)`: a call keeps the frame of `send` while it waits, and the variables of these functions must not
  // enlarge it.

  /// Stores the cookies of a response that came over the network.
  @inline(never)
  private func store(from response: HTTPResponse, to request: HTTPRequest, in call: Call) async {
    guard let head = response.networkHead else { return }
    do {
      let outcomes = try await jar(for: request).store(
        from: head, for: request.url, in: Self.context(of: request), sentWith: response.sentCookies,
        begun: Beginning(call.id, signOuts: call[jar.memory.seenSignOuts]))
      for refusal in outcomes.compactMap(\.refusal) { call.emit(.cookieRefused(refusal)) }
      let stored = outcomes.compactMap { try? $0.get().name }
      if !stored.isEmpty { call.emit(.cookiesStored(stored)) }
    } catch {
      call.emit(.note("the cookie store failed: \(error)"))
    }
  }

  /// Returns the line that the jar adds to a request; nil if it has to be awaited, or if the request has a line.
  @inline(never)
  private func immediateLine(for request: HTTPRequest) -> CookieLine? {
    guard jar.shared == nil, !request.fields.contains(.cookie) else { return nil }
    return jar(for: request).immediateLine(for: request, in: Self.context(of: request))
  }

  /// Returns the line that the jar adds to a request, after noting the sign-outs so far. nil if that is not known,
  /// because the request has a line or the store failed.
  @inline(never)
  private func laterLine(for request: HTTPRequest, in call: Call) async -> HTTPFields? {
    let (jar, context) = (jar(for: request), Self.context(of: request))
    await jar.noteSignOuts(in: call)
    guard !request.fields.contains(.cookie) else { return nil }
    // Of a jar that no other process shares, the immediate line is known to be missing.
    if jar.shared != nil, let line = jar.immediateLine(for: request, in: context) { return usable(line, in: call) }
    do { return usable(try await jar.line(for: request, in: context), in: call) } catch {
      call.emit(.note("the cookie store failed: \(error)"))
      return nil
    }
  }

  /// Returns the fields of a line, empty if there are no cookies for the request; nil if they cannot be sent.
  private func usable(_ line: CookieLine, in call: Call) -> HTTPFields? {
    if line.omitted > 0 { call.emit(.note(Self.note(on: line))) }
    if line.fields.refusal == nil { return line.fields }
    call.emit(.note("the cookie store holds a cookie with a control character, so no cookies are sent"))
    return nil
  }
}

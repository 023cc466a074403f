@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics
import Synchronization

// A CSRF token is valid only with the session cookie of the same response. Many servers create a session for every
// request without one, or with an expired one. If parallel requests bring several sessions, the jar would keep the
// cookie of the last response, and the token would be refused. Therefore the jar pairs a received token with the
// current values of the cookies. While the jar has a paired value, a response replaces it only if its request carried
// that value. The jar need not know which cookie identifies the session. A value that replaces a paired one is itself
// unpaired until the next token is received.
extension CookieJar {
  /// Stores the cookies of a response.
  ///
  /// A client may ignore `Set-Cookie` (RFC 6265bis §5.6). A cookie whose value is paired with a CSRF token is not
  /// replaced by a response whose request carried another value, or none. An exception is a successful response to an
  /// unsafe method, which may be a login. No cookies are stored if all were removed since the call began.
  ///
  /// - Parameters:
  ///   - head: the head as it came over the network.
  ///   - url: the URL of the request.
  ///   - context: other information about the request.
  ///   - line: the `Cookie` line that the jar added to the request; nil if that is not known.
  ///   - beginning: shows whether the call began before a sign-out.
  /// - Returns: for each line, the stored cookie, or the reason why none was stored.
  func store(
    from head: ResponseHead, for url: URL, in context: Cookie.Context, sentWith line: HTTPFields?,
    begun beginning: Beginning = .now
  ) async throws -> [Result<Cookie, Cookie.Refusal>] {
    let mayBeLogin = !context.method.isSafe && (head.status.isSuccessful || head.status.isRedirection)
    let moment = now()
    return try await store(head.fields[values: .setCookie], for: url, in: context, after: beginning.signOuts) {
      list, isOver in
      if isOver || self.memory.hasSignedOut(self.partitionSuffix, since: beginning.position) { return { _ in true } }
      let paired = self.memory.paired.withLock { $0 }
      guard !mayBeLogin, !paired.isEmpty, let line, let request = CookieRequest(url) else { return { _ in false } }
      let carried = Set(CookieList.pairs(in: line[.cookie] ?? ""))
      let foreign = list.cookies(for: request, in: context, now: moment)
        .filter { paired.value(for: self.key(of: $0)) == $0.value && !carried.contains($0.pair) }
      let identities = Set(foreign.map(\.identity))
      return { identities.contains($0.identity) }
    }
  }

  /// Pairs the cookies for a request with the CSRF token of its response. Returns whether they belong to the session of
  /// the token: whether every cookie in the jar has the value that the request carried or the response set.
  ///
  /// The result is true if the store fails, because nothing is known then.
  @_spi(Credentials) public func holdsSession(of response: HTTPResponse, in context: Cookie.Context) async -> Bool {
    guard let head = response.networkHead, let line = response.sentCookies, let request = CookieRequest(response.url)
    else { return true }
    let moment = now()
    let set = read(head.fields[values: .setCookie], for: request, in: context, now: moment)
      .compactMap { try? $0.get() }
    let identities = Set(set.map(\.identity))
    // The pairs are made within a change, although no cookie changes: another change must not read them before they are
    // complete.
    let reading = try? await change(storeKey(of: request.host)) { list, _ in
      let cookies = list.cookies(for: request, in: context, now: moment)
      self.pair(cookies + list.cookies.filter { identities.contains($0.identity) })
      return cookies
    }
    guard let cookies = reading else { return true }
    let carried = CookieList.pairs(in: line[.cookie] ?? "")
    let areKnown = cookies.allSatisfy { cookie in
      guard let new = set.last(where: { $0.identity == cookie.identity }) else { return carried.contains(cookie.pair) }
      return new.value == cookie.value
    }
    let areKept = carried.allSatisfy { pair in
      cookies.contains { $0.pair == pair } || set.contains { pair.hasPrefix($0.name + "=") }
    }
    return areKnown && areKept
  }

  private func pair(_ cookies: [Cookie]) {
    memory.paired.withLock { paired in
      for cookie in cookies { paired.set(cookie.value, for: key(of: cookie)) }
    }
  }

  private func key(of cookie: Cookie) -> CookieMemory.PairedCookie {
    .init(partitionSuffix: partitionSuffix, identity: cookie.identity)
  }
}

// MARK: - Sign-outs

extension CookieJar {
  /// The group of the partition in a store that several processes share.
  var group: Int {
    // The suffix is a slash and a fingerprint in hexadecimal.
    Int(partitionSuffix.dropFirst().prefix(2), radix: 16) ?? 0
  }

  /// Notes the sign-outs of all processes when a call first uses the jar. A store that fails refuses no cookies.
  func noteSignOuts(in call: Call) async {
    guard let shared, call[memory.seenSignOuts] == nil else { return }
    call[memory.seenSignOuts] = try? await shared.signOuts(of: group)
  }
}

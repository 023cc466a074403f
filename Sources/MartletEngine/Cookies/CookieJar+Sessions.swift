import MartletSemantics
import Synchronization

// A CSRF token is valid with the session cookie of the same response only. Many servers open a session for every request that
// comes without one, or with one that has expired, so that parallel requests bring several sessions, and the jar would keep the
// cookie of whichever response came last. The value that a cookie has when a token is got therefore belongs to the token: while
// the jar holds it, a response replaces it only if its request carried it. Which cookie is the session's need not be known. A
// value that replaced it belongs to no token until the next one is got.
extension CookieJar {
  /// Takes the cookies of a response to a request that the jar gave this `Cookie` line; nil where it is not known to have given one.
  ///
  /// RFC 6265bis §5.6 lets a client ignore `Set-Cookie`; a cookie whose value belongs to a CSRF token is not taken from a response
  /// whose request carried another value of it, or none. A successful response to an unsafe method is excepted: it may be a login.
  func store(
    from head: ResponseHead, for url: URL, in context: CookieContext, sentWith line: HTTPFields?
  ) async throws -> [CookieRefusal] {
    let mayBeLogin = !context.method.isSafe && (head.status.isSuccessful || head.status.isRedirection)
    guard !mayBeLogin, let line, let request = CookieRequest(url) else {
      return try await store(from: head.fields, for: url, in: context)
    }
    let moment = now()
    return try await take(head.fields[values: .setCookie], for: url, in: context) { list in
      let paired = self.paired.withLock { $0 }
      guard !paired.isEmpty else { return [] }
      let carried = Set(CookieList.pairs(in: line[.cookie] ?? ""))
      let foreign = list.cookies(for: request, in: context, now: moment)
        .filter { paired[$0.identity] == $0.value && !carried.contains($0.pair) }
      return Set(foreign.map(\.identity))
    }
  }

  /// Whether the session of a response that brought a CSRF token is the one whose cookies are in the jar. From now on, the values
  /// of these cookies belong to the token.
  ///
  /// That is so if every cookie in the jar is as the request carried it or the response set it. A store that fails holds nothing
  /// against it.
  func holdsSession(of response: HTTPResponse, in context: CookieContext) async -> Bool {
    guard let wire = response.wire, let line = response.cookieLine, let request = CookieRequest(response.url) else {
      return true
    }
    let moment = now()
    let set = read(wire.fields[values: .setCookie], for: request, in: context, now: moment)
      .compactMap { try? $0.get() }
    let identities = Set(set.map(\.identity))
    // as a change, so that no other change is under way which knows nothing yet of the token
    let reading = try? await change(site(of: request.host)) { list, _ in
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
    paired.withLock { paired in
      if paired.count > limits.total { paired = [:] }
      for cookie in cookies { paired[cookie.identity] = cookie.value }
    }
  }
}

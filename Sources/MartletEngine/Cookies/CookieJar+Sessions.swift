import MartletSemantics
import Synchronization

// A CSRF token is valid with the session cookie of the same response only. Many servers open a session for every request that
// comes without one, or with one that has expired, so that parallel requests bring several sessions, and the jar would keep the
// cookie of whichever response came last. Once a cookie belongs to a token, it therefore changes with its own session only:
// a response sets it if its request carried it as it is in the jar. Which cookie is the session's need not be known.
extension CookieJar {
  /// Takes the cookies of a response to a request that the jar gave this `Cookie` line; nil where it gave none of its own.
  ///
  /// RFC 6265bis §5.6 lets a client ignore `Set-Cookie`; a cookie that belongs to a CSRF token is not taken from a response whose
  /// request carried another value of it, or none.
  func store(
    from fields: HTTPFields, for url: URL, in context: CookieContext, sentWith line: HTTPFields?
  ) async throws -> [CookieRefusal] {
    guard let line, let request = CookieRequest(url) else {
      return try await store(from: fields, for: url, in: context)
    }
    let moment = now()
    return try await take(fields[values: .setCookie], for: url, in: context) { list in
      guard self.paired.withLock({ !$0.isEmpty }) else { return [] }
      let carried = Set(CookieList.pairs(in: line[.cookie] ?? ""))
      let changed = list.cookies(for: request, in: context, now: moment).filter { !carried.contains($0.pair) }
      return self.paired.withLock { $0.intersection(changed.map(\.identity)) }
    }
  }

  /// Whether the session of a response that brought a CSRF token is the one whose cookies are in the jar. From now on, these
  /// cookies belong to the token.
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
    pair(((try? await cookies(for: response.url, in: context)) ?? []) + set)
    // as a change, so that no other change is under way which knows nothing yet of the token
    let reading = try? await change(site(of: request.host)) { list, _ in
      list.cookies(for: request, in: context, now: moment)
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
      if paired.count > limits.total { paired = [] }
      paired.formUnion(cookies.map(\.identity))
    }
  }
}

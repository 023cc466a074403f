public import MartletSemantics

extension CookieJar {
  /// Takes the cookies of a `cookies.txt`, as curl, wget and browsers' extensions write it.
  ///
  /// ```swift
  /// for problem in try await jar.importNetscape(String(contentsOf: file, encoding: .utf8)) { print(problem) }
  /// ```
  ///
  /// A cookie takes the place of the one in the jar with the same name, domain, host-only flag and path. Those that have
  /// ended are left out. Lifetimes are cut at 400 days. Of more than the jar may hold, the last are taken.
  ///
  /// - Parameter text: the file's text.
  /// - Returns: The lines that were not taken, and why; the others were. Empty if all is well.
  /// - Throws: what the store throws.
  public func importNetscape(_ text: String) async throws -> [CookieFileProblem] {
    let moment = now()
    var (lines, problems) = NetscapeCookieFile.parse(text, now: moment)
    lines.removeAll { $0.cookie.isExpired(at: moment) }
    lines.removeFirst(max(0, lines.count - limits.total))
    var sites: [String: [Cookie]] = [:]
    for (number, cookie) in lines {
      do throws(CookieRefusal) {
        var cookie = cookie
        // `localhost` for all hosts below it, as curl writes it: for the host alone it is as good and does no harm.
        if publicSuffixes.contains(cookie.domain) { cookie.isHostOnly = true }
        cookie = try cookie.checked(publicSuffixes)
        sites[site(of: cookie.domain), default: []].append(cookie)
      } catch { problems.append(CookieFileProblem(number, error.description)) }
    }
    for (site, cookies) in sites {
      try await change(site) { list, limits in
        for cookie in cookies { list.put(cookie) }
        for domain in Set(cookies.map(\.domain)) { list.trim(domain, to: limits.perDomain) }
      }
    }
    return problems.sorted { $0.line < $1.line }
  }

  /// All cookies, session cookies included, as a `cookies.txt` that curl, wget and others read.
  ///
  /// The format has no place for `SameSite` and the time of creation, and none for a cookie with a tab in it, which is left
  /// out.
  ///
  /// The text is as secret as the sessions in it: ``exportNetscape(to:)`` writes a file that only its owner may read.
  public func exportNetscape() async throws -> String {
    NetscapeCookieFile.format(try await allCookies())
  }

  /// Writes all cookies to a `cookies.txt`, which appears when it is complete, in place of what was there (a symbolic link is
  /// replaced, not followed). Only the owner may read it.
  ///
  /// - Throws: what the store throws, or ``HTTPError`` of kind `.file`.
  public func exportNetscape(to file: URL) async throws {
    let text = try await exportNetscape()
    let partial = try PartialFile(for: file, access: .ownerOnly)
    try partial.append(Data(text.utf8))
    try partial.complete()
  }
}

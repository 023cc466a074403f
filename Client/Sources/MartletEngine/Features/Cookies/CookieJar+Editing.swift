@_spi(Toolkit) public import MartletSemantics
import Synchronization

// Changes that a program makes to cookies without a request.
extension CookieJar {
  /// Stores a cookie, and replaces the one with the same name, domain, host-only flag and path.
  ///
  /// Rules for servers that depend on a request do not apply. A cookie is refused if it can never be sent, or does not
  /// fulfil the promise of its name (`__Host-`, `__Secure-`). An expired cookie removes the one that it replaces.
  ///
  /// - Throws: ``Cookie/Refusal``, or the error of the store.
  public func set(_ cookie: Cookie) async throws {
    let cookie = try cookie.checked(publicSuffixes)
    let moment = now()
    try await change(storeKey(of: cookie.domain)) { list, limits in
      list.put(cookie)
      list.removeExpired(moment)
      list.trim(cookie.domain, to: limits.perDomain)
    }
  }

  /// Removes the cookie that has the same name, domain, host-only flag and path; its value does not matter.
  public func remove(_ cookie: Cookie) async throws {
    guard let domain = HostName.canonical(cookie.domain) else { return }
    var cookie = cookie
    cookie.domain = domain
    let identity = cookie.identity
    try await change(storeKey(of: domain)) { list, _ in list.remove { $0.identity == identity } }
  }

  /// Returns all cookies that have not expired, in the order of their creation.
  public func allCookies() async throws -> [Cookie] {
    let moment = now()
    var all = try await backing.allCookies()
    memory.accesses.withLock { $0.apply(to: &all) }
    return all.filter { isOwn($0.key) }.values.joined().filter { !$0.isExpired(at: moment) }.sorted {
      $0.created == $1.created ? $0.domain < $1.domain : $0.created < $1.created
    }
  }

  /// Removes the cookies of a domain and of all its subdomains.
  public func removeCookies(inDomain domain: String) async throws {
    guard let domain = HostName.canonical(domain.hasPrefix(".") ? domain.dropFirst() : domain[...]) else { return }
    try await removeCookies { HostName.matches($0.domain, domain: domain) }
  }

  /// Removes the session cookies, as a browser does when it is closed.
  public func removeSessionCookies() async throws {
    try await removeCookies { $0.isSession }
  }

  /// Removes all cookies: those of the partition, or those of all partitions if this is the jar without a partition.
  /// Cookies of a response whose request began before are not stored: they would belong to the user who has signed out.
  /// That holds for the requests of all processes that share a `SQLiteCookieStore` or a `RedisCookieStore`.
  ///
  /// In a partition, each site is changed atomically, but not all sites together.
  public func removeAll() async throws {
    guard partitionSuffix.isEmpty else { return try await removeOwn() }
    // Twice: a request that begins during the first removal may still send a cookie, and get the next one.
    for _ in 1...2 {
      memory.signOut.set()
      memory.accesses.withLock { $0.removeAll() }
      try await backing.removeAll()
    }
  }

  /// Removes the cookies of a partition when its user signs out, as ``HTTPCache/removePartition(_:)`` removes the
  /// responses. Cookies of a response in the partition whose request began before are not stored.
  ///
  /// ```swift
  /// try await jar.removePartition("anna")
  /// try await cache.removePartition("anna")
  /// ```
  ///
  /// Each site is changed atomically, but not all sites together. Throws the store's errors.
  ///
  /// - Parameter name: the name: ``RequestOptions/partition``. An empty one means the requests without a partition;
  ///   the named partitions then keep their cookies, unlike with ``removeAll()``.
  public func removePartition(_ name: String) async throws { try await partition(name).removeOwn() }

  /// Removes the cookies of this partition only.
  private func removeOwn() async throws {
    // Twice, as in `removeAll`.
    for _ in 1...2 {
      memory.noteSignOut(of: partitionSuffix)
      try await shared?.noteSignOut(of: group)
      // The listing below has to include the cookies of changes that began before the sign-out. An empty change waits
      // for them in a store that makes one change after another; in others the listing waits. No site is called "/".
      try await backing.update(partitionSuffix.isEmpty ? "/" : partitionSuffix) { _ in }
      try await removeCookies { _ in true }
    }
  }

  /// Removes the cookies that satisfy a condition. Each site is changed atomically, but not all sites together.
  public func removeCookies(where condition: @escaping @Sendable (Cookie) -> Bool) async throws {
    for (key, cookies) in try await backing.allCookies() where isOwn(key) && cookies.contains(where: condition) {
      try await change(key) { list, _ in list.remove(where: condition) }
    }
  }

  /// Not available: use ``set(_:)``.
  @available(*, unavailable, renamed: "set(_:)")
  public func setCookie(_ cookie: Cookie) {}

  /// Not available: use ``remove(_:)``.
  @available(*, unavailable, renamed: "remove(_:)")
  public func deleteCookie(_ cookie: Cookie) {}
}

// MARK: - Files

extension CookieJar {
  /// Stores the cookies of a `cookies.txt`, the format of curl, wget and browser extensions.
  ///
  /// ```swift
  /// for problem in try await jar.importNetscape(String(contentsOf: file, encoding: .utf8)) { print(problem) }
  /// ```
  ///
  /// A cookie replaces the one with the same name, domain, host-only flag and path. Expired cookies are ignored.
  /// Lifetimes are limited to 400 days. If there are more cookies than the jar may contain, the last ones are stored.
  ///
  /// - Parameter text: the text of the file.
  /// - Returns: the lines whose cookies were not stored, with the reasons; empty if all were stored.
  /// - Throws: the error of the store.
  public func importNetscape(_ text: String) async throws -> [FileProblem] {
    let moment = now()
    var (lines, problems) = NetscapeCookieFile.parse(text, now: moment)
    lines.removeAll { $0.cookie.isExpired(at: moment) }
    lines.removeFirst(max(0, lines.count - limits.total))
    var cookies: [String: [Cookie]] = [:]
    for (number, cookie) in lines {
      do throws(Cookie.Refusal) {
        var cookie = cookie
        // curl writes `.localhost` for a cookie of all hosts below it. For the host alone, it is harmless.
        if publicSuffixes.contains(cookie.domain) { cookie.isHostOnly = true }
        cookie = try cookie.checked(publicSuffixes)
        cookies[storeKey(of: cookie.domain), default: []].append(cookie)
      } catch { problems.append(FileProblem(line: number, reason: error.description)) }
    }
    for (key, cookies) in cookies {
      try await change(key) { list, limits in
        for cookie in cookies { list.put(cookie) }
        for domain in Set(cookies.map(\.domain)) { list.trim(domain, to: limits.perDomain) }
      }
    }
    return problems.sorted { $0.line < $1.line }
  }

  /// Returns all cookies, including session cookies, as a `cookies.txt` for curl, wget and others.
  ///
  /// The format has no place for `SameSite` and the time of creation. Cookies that contain a tab are omitted, because
  /// it cannot represent them.
  ///
  /// The text is as secret as the cookies: ``exportNetscape(to:)`` writes a file that only its owner can read.
  public func exportNetscape() async throws -> String {
    NetscapeCookieFile.format(try await allCookies())
  }

  /// Writes all cookies to a `cookies.txt`, which replaces an existing file when it is complete (a symbolic link is
  /// replaced, not followed). Only the owner can read it.
  ///
  /// - Throws: the error of the store, or ``HTTPError`` of kind `.file`.
  public func exportNetscape(to file: URL) async throws {
    let text = try await exportNetscape()
    let partial = try PartialFile(for: file, access: .ownerOnly, phase: nil)
    try partial.append(Data(text.utf8))
    try partial.complete()
  }
}

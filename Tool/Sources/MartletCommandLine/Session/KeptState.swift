import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The state that a call takes from earlier calls and keeps for later ones: `--session` and `--cookies`; and its
/// credentials, which may come from a session.
struct KeptState: Sendable {
  let credentials: CallCredentials?
  let jar: CookieJar
  private let cookieFile: CookieFile?
  private let stored: StoredChanges?
  private let clock: any Clock<Duration>

  /// Reads the kept state, and sets the session's fields that the command line does not name.
  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment, for request: inout HTTPRequest) async throws {
    guard let origin = request.origin else { throw UsageError("'\(request.url)' names no host") }
    clock = environment.clock
    cookieFile = try await CookieFile(arguments, environment)
    let given = try CallCredentials(arguments, for: &request, at: origin, environment)
    if arguments.has(.session), arguments.has(.sessionReadOnly) {
      throw UsageError("--session and --session-read-only cannot be combined: leave one out")
    }
    let name = arguments.value(.session) ?? arguments.value(.sessionReadOnly)
    let file = try name.map { name throws(UsageError) in
      try StoredSession.file(named: name, for: origin, environment)
    }
    let session =
      try file.map { file throws(UsageError) in try StoredSession.read(file, for: origin) }
      ?? StoredSession(origin: "\(origin)")
    let named = Self.namedFields(in: arguments)
    let changed = arguments.has(.session) ? file : nil
    // Before anything is sent: without the folder, the session would be lost.
    if let changed, !arguments.has(.offline), !arguments.has(.curl) {
      try OwnFolder.make(changed.deletingLastPathComponent())
    }
    stored = changed.map { [fields = Self.keptFields(of: request, named)] file in
      StoredChanges(file: file, origin: origin, before: session, named: named, fields: fields, credentials: given)
    }
    Self.setFields(session.fields, in: &request, except: named)
    credentials = given ?? session.credentials
    try CallCredentials.check(credentials, with: arguments, for: request)
    jar = CookieJar()
    for cookie in session.cookies + (cookieFile?.cookies ?? []) { try? await jar.set(cookie) }
    if file != nil { try await Self.moveCookies(of: &request, to: jar, at: origin) }
  }

  /// Puts the cookies of `Cookie:` items into the jar, in place of cookies with their names, as HTTPie does with a
  /// session: they are sent together with the others, and kept.
  private static func moveCookies(of request: inout HTTPRequest, to jar: CookieJar, at origin: Origin) async throws {
    let pairs = request.fields[values: .cookie].flatMap { CookieList.pairs(in: $0) }
    request.fields.remove(.cookie)
    for pair in pairs {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (name, value) = parts.count == 2 ? (String(parts[0]), String(parts[1])) : ("", pair)
      for cookie in try await jar.cookies(for: request.url) where cookie.name == name { try await jar.remove(cookie) }
      try await jar.set(Cookie(name: name, value: value, domain: origin.host))
    }
  }

  /// Writes the cookies to the file of `--cookies`.
  func writeCookies() async throws { try await cookieFile?.write(try await jar.allCookies(), clock: clock) }

  /// Writes the session.
  func writeSession() async throws { try await stored?.write(try await jar.allCookies(), clock: clock) }
}

/// The changes that a run makes to a session, which other runs may change at the same time.
private struct StoredChanges: Sendable {
  let file: URL
  let origin: Origin
  let before: StoredSession
  /// The fields that the command line names: they replace the session's fields of the same names.
  let named: Set<FieldName>
  let fields: [StoredSession.Field]
  let credentials: CallCredentials?

  func write(_ cookies: [Cookie], clock: any Clock<Duration>) async throws {
    let changes = CookieChanges(from: before.cookies, to: cookies)
    try await FileLock.holding(file, clock: clock) {
      var session = try StoredSession.read(file, for: origin)
      session.fields.removeAll { field in (try? FieldName(field.name)).map(named.contains) ?? true }
      session.fields += fields
      session.credentials = credentials ?? session.credentials
      let jar = CookieJar()
      for cookie in session.cookies { try? await jar.set(cookie) }
      try await changes.apply(to: jar)
      session.cookies = try await jar.allCookies()
      try session.write(to: file)
    }
  }
}

// The fields of a session.
extension KeptState {
  private static func namedFields(in arguments: ParsedArguments) -> Set<FieldName> {
    var names: Set<FieldName> = []
    for word in arguments.words.dropFirst() {
      switch try? RequestItem.parse(word) {
      case .field(let name, _), .removedField(let name), .emptyField(let name):
        if let name = try? FieldName(name) { names.insert(name) }
      default: break
      }
    }
    return names
  }

  /// The fields of the command line that the session keeps: all except fields that concern only one request.
  private static func keptFields(of request: HTTPRequest, _ named: Set<FieldName>) -> [StoredSession.Field] {
    request.fields.filter { named.contains($0.name) && !isOfOneRequest($0.name) }
      .map { StoredSession.Field(name: $0.name.rawName, value: $0.value) }
  }

  /// Sets the fields of the session in the request, except fields that the command line names.
  private static func setFields(
    _ fields: [StoredSession.Field], in request: inout HTTPRequest, except named: Set<FieldName>
  ) {
    var isSet = named
    for field in fields {
      guard let name = try? FieldName(field.name), !named.contains(name) else { continue }
      // The first value replaces a default, and others are added to it.
      if isSet.insert(name).inserted {
        request.fields[name] = field.value
      } else {
        request.fields.append(field.value, for: name)
      }
    }
  }

  private static func isOfOneRequest(_ name: FieldName) -> Bool {
    let lowercased = name.canonicalName.lowercased()
    return lowercased.hasPrefix("content-") || lowercased.hasPrefix("if-")
      || [FieldName.range, .host, .cookie].contains(name)
  }
}

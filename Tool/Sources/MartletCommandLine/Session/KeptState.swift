import MartletEngine
import MartletSemantics

/// What a call has from earlier ones, and keeps for later ones: `--session` and `--cookies`; and its credentials, which
/// may come from a session.
struct KeptState: Sendable {
  let credentials: CallCredentials?
  let jar: CookieJar
  private let cookieFile: URL?
  private let stored: (file: URL, session: StoredSession)?

  /// Reads what is kept, and sets the fields of the session that the command line does not name.
  init(_ arguments: ParsedArguments, _ surroundings: Surroundings, for request: inout HTTPRequest) async throws {
    guard let origin = Origin(request.url) else { throw UsageError("'\(request.url)' names no host") }
    let given = try CallCredentials(arguments, for: origin, surroundings)
    let file = try arguments.value(.session).map { name throws(UsageError) in
      try StoredSession.file(named: name, for: origin, surroundings)
    }
    var session = try file.map { file throws(UsageError) in try StoredSession.read(file) } ?? StoredSession()
    session.credentials = given ?? session.credentials
    Self.takeFields(of: &session, into: &request, named: Self.namedFields(in: arguments))

    credentials = session.credentials
    jar = try await Self.jar(arguments, surroundings, session.cookies)
    cookieFile = arguments.value(.cookies).map { surroundings.file($0) }
    stored = file.map { [session] in ($0, session) }
  }

  /// Writes the cookies and the session.
  func write() async throws {
    if let cookieFile { try await jar.exportNetscape(to: cookieFile) }
    guard let stored else { return }
    var session = stored.session
    session.cookies = try await jar.allCookies()
    try session.write(to: stored.file)
  }

  private static func jar(
    _ arguments: ParsedArguments, _ surroundings: Surroundings, _ kept: [Cookie]
  ) async throws -> CookieJar {
    let jar = CookieJar()
    for cookie in kept { try? await jar.set(cookie) }
    guard let path = arguments.value(.cookies) else { return jar }
    let file = surroundings.file(path)
    guard FileManager.default.fileExists(atPath: file.path) else { return jar }
    guard let data = try? Data(contentsOf: file) else { throw UsageError("'\(path)' cannot be read") }
    for problem in try await jar.importNetscape(String(decoding: data, as: UTF8.self)) {
      surroundings.report("martlet: '\(path)': \(problem)")
    }
    return jar
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

  /// Sets the fields of the session in the request, except those that the command line names; these are kept in the
  /// session, except those that concern one request.
  private static func takeFields(
    of session: inout StoredSession, into request: inout HTTPRequest, named: Set<FieldName>
  ) {
    session.fields.removeAll { field in (try? FieldName(field.name)).map(named.contains) ?? true }
    for (name, value) in request.fields where named.contains(name) && !isOfOneRequest(name) {
      session.fields.append(StoredSession.Field(name: name.rawName, value: value))
    }
    var isSet = named
    for field in session.fields {
      guard let name = try? FieldName(field.name), !named.contains(name) else { continue }
      // the first value replaces a default, and others are added to it
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

@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The cookies of `--cookies FILE`, which other runs and programs may change at the same time.
struct CookieFile: Sendable {
  private let file: OwnFile
  /// The cookies that were read.
  let cookies: [Cookie]

  /// Reads the file; there are no cookies if it does not exist. nil without the option.
  init?(_ arguments: ParsedArguments, _ environment: ToolEnvironment) async throws {
    guard let file = try OwnFile(.cookies, .cookies, arguments, environment) else { return nil }
    self.file = file
    let jar = CookieJar()
    for problem in try await Self.read(file, into: jar) {
      // Well written, and no cookie that could be sent.
      guard arguments.has(.overwrite) else { throw file.refusal("has a cookie that is refused, line \(problem.line)") }
      environment.report("martlet: '\(file.path)': ignored \(problem)")
    }
    cookies = try await jar.allCookies()
  }

  /// Writes the cookies of a run: applies its changes since the file was read to the file's current content.
  func write(_ after: [Cookie], clock: any Clock<Duration>) async throws {
    let changes = CookieChanges(from: cookies, to: after)
    try await FileLock.holding(file.url, clock: clock) {
      try file.check()
      let jar = CookieJar()
      _ = try await Self.read(file, into: jar)
      try await changes.apply(to: jar)
      try await jar.exportNetscape(to: file.url)
    }
  }

  private static func read(_ file: OwnFile, into jar: CookieJar) async throws -> [FileProblem] {
    guard FileManager.default.fileExists(atPath: file.url.path) else { return [] }
    guard let data = try? SpareDescriptors.contents(of: file.url) else {
      throw UsageError("'\(file.path)' cannot be read")
    }
    return try await jar.importNetscape(String(decoding: data, as: UTF8.self))
  }

  private static let marks = ["# Netscape HTTP Cookie File", "# HTTP Cookie File"]

  /// The reason why the file is not a cookie file; nil if it is one. In a cookie file, each line is a cookie, a comment
  /// or empty, and the file begins with the mark of the format or contains a cookie.
  static func fault(in data: Data) -> String? {
    guard let text = String(validating: data, as: UTF8.self) else { return "exists and is not a cookie file" }
    let (cookies, problems) = NetscapeCookieFile.parse(text, now: .now)
    let isMarked = marks.contains { text.hasPrefix($0) }
    guard isMarked || !cookies.isEmpty else { return "exists and is not a cookie file" }
    return problems.first.map { "has a line that is not a cookie, line \($0.line)" }
  }
}

/// The changes that a run made to cookies.
struct CookieChanges: Sendable {
  private let set: [Cookie]
  private let removed: [Cookie]

  /// The times of setting and sending do not count as changes.
  init(from before: [Cookie], to after: [Cookie]) {
    let known = Dictionary(before.map { ($0.identity, $0) }) { $1 }
    set = after.filter { cookie in !(known[cookie.identity].map { Self.areEqual($0, cookie) } ?? false) }
    let kept = Set(after.map(\.identity))
    removed = before.filter { !kept.contains($0.identity) }
  }

  private static func areEqual(_ left: Cookie, _ right: Cookie) -> Bool {
    var left = left
    (left.created, left.lastAccessed) = (right.created, right.lastAccessed)
    return left == right
  }

  func apply(to jar: CookieJar) async throws {
    for cookie in removed { try await jar.remove(cookie) }
    for cookie in set { try? await jar.set(cookie) }  // a refused one could not be sent either
  }
}

/// The contents of a `.netrc` file: user names and passwords by host.
///
/// ```
/// machine example.com login anna password "a b"    # a comment
/// default login anonymous password guest
/// ```
///
/// Values may be quoted, with `\"`, `\\`, `\n`, `\r` and `\t` in the quotes. `account`, macros (`macdef`, up to the
/// next empty line), unknown words and a byte order mark are skipped, as by curl. A host may have an entry for each of
/// several logins; `default` is for hosts without an entry. Among entries that fit, the first counts.
public struct Netrc: Sendable, Hashable {
  /// The entries of each host in their order. A user name is empty if the entry has none.
  private var machines: [String: [Credential]] = [:]
  private var fallback: Credential?

  /// Makes a netrc without entries.
  public init() {}

  /// Parses the text of a file. `Netrc.file(_:)` reads the user's own.
  ///
  /// - Throws: ``FileProblem`` with the first line that is not valid.
  public init(parsing text: String) throws(FileProblem) {
    var reader = NetrcReader(text)
    var entry: (host: String?, user: String, password: String)?
    while let word = try reader.next(isKeyword: true) {
      switch word {
      case "machine":
        add(entry)
        entry = (Self.key(try reader.value(of: word)), "", "")
      case "default":
        add(entry)
        entry = (nil, "", "")
      case "login": entry?.user = try reader.value(of: word)
      case "password": entry?.password = try reader.value(of: word)
      case "account": _ = try reader.value(of: word)
      case "macdef": reader.skipMacro()
      default: continue
      }
      if entry == nil, word != "macdef" {
        throw FileProblem(line: reader.line, reason: "'\(word)' before the first 'machine'")
      }
    }
    add(entry)
  }

  /// Returns the first credential for a host, or that of `default`; nil if there is neither. The comparison ignores
  /// case and uses A-labels: `bücher.example` is the same host as `xn--bcher-kva.example`.
  public func credential(for host: String) -> Credential? { machines[Self.key(host)]?.first ?? fallback }

  /// Returns the credential of one user for a host; nil if there is none. Use it if the user is known, for example from
  /// `http://user@host/`.
  ///
  /// It is that of the host's first entry with this login, otherwise of the first one without a login, otherwise of
  /// `default` if that has this login, or none.
  public func credential(for host: String, user: String) -> Credential? {
    let entries = machines[Self.key(host)] ?? []
    let found =
      entries.first { $0.user == user } ?? entries.first(where: \.user.isEmpty)
      ?? fallback.flatMap { $0.user == user || $0.user.isEmpty ? $0 : nil }
    return found.map { Credential(user: user, password: $0.password) }
  }

  private static func key(_ host: String) -> String { HostName.canonical(host) ?? host }

  private mutating func add(_ entry: (host: String?, user: String, password: String)?) {
    guard let entry, !entry.user.isEmpty || !entry.password.isEmpty else { return }
    let credential = Credential(user: entry.user, password: entry.password)
    if let host = entry.host {
      machines[host, default: []].append(credential)
    } else {
      fallback = fallback ?? credential
    }
  }
}

extension Netrc: CustomStringConvertible, CustomReflectable {
  /// The number of hosts only.
  public var description: String { "a netrc with \(machines.count) machine\(machines.count == 1 ? "" : "s")" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Splits the text of a file into words.
private struct NetrcReader {
  private var rest: Substring.UTF8View
  private(set) var line = 1

  init(_ text: String) { rest = text.utf8.dropFirst(text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0) }

  /// Returns the next word; nil at the end. Comments are skipped only where a keyword is expected: a password may begin
  /// with `#`.
  mutating func next(isKeyword: Bool) throws(FileProblem) -> String? {
    while let byte = rest.first {
      if Self.isSpace(byte) {
        take()
      } else if isKeyword, byte == UInt8(ascii: "#") {
        while let next = rest.first, next != 10 { take() }
      } else if byte == UInt8(ascii: "\"") {
        return try quoted()
      } else {
        let word = rest.prefix { !Self.isSpace($0) }
        rest = rest[word.endIndex...]
        return String(decoding: word, as: UTF8.self)
      }
    }
    return nil
  }

  mutating func value(of keyword: String) throws(FileProblem) -> String {
    guard let value = try next(isKeyword: false) else {
      throw FileProblem(line: line, reason: "the value of '\(keyword)' is missing")
    }
    return value
  }

  /// Skips a macro, which ends with an empty line.
  mutating func skipMacro() {
    var isEmptyLine = false
    while let byte = take() {
      if byte == 10, isEmptyLine { return }
      isEmptyLine = byte == 10 || (isEmptyLine && byte == 13)
    }
  }

  private mutating func quoted() throws(FileProblem) -> String {
    let start = line
    take()
    var bytes: [UInt8] = []
    while let byte = take() {
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        switch take() {
        case UInt8(ascii: "n"): bytes.append(10)
        case UInt8(ascii: "r"): bytes.append(13)
        case UInt8(ascii: "t"): bytes.append(9)
        case let other?: bytes.append(other)
        case nil: break
        }
      default: bytes.append(byte)
      }
    }
    throw FileProblem(line: start, reason: "the quotes are not closed")
  }

  @discardableResult
  private mutating func take() -> UInt8? {
    guard let byte = rest.popFirst() else { return nil }
    if byte == 10 { line += 1 }
    return byte
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
}

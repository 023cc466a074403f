@_spi(Toolkit) import MartletSemantics

/// Notices what other code does with `HTTPCookieStorage.shared`, which has no notification of it on Linux.
///
/// Sessions of the default configuration have a storage of their own, because Foundation's keeps neither the order nor
/// all attributes of cookies, and writes them into a file that others can read. They adopt from the shared storage what
/// an app does there: it sets a cookie, deletes one, or removes all.
///
/// - A look compares the storage's cookies with those of the last look by their identity. It takes a microsecond.
/// - That all were removed shows by the absence of a mark, a cookie that no server gets. It is stored permanently. So a
///   removal is also noticed if it happened before the first session of a run. Foundation's file is that of the
///   program's folder; in another folder there is no mark yet, which is not a removal.
/// - Another cookie has a list of the permanent cookies that were adopted, so that the next run does not adopt them
///   again over newer ones of a server. It has hashes and expiry dates, no values.
/// - A cookie that expires is not removed by the app: the session's own, which a server may have renewed, stays.
struct SharedCookies {
  /// What has changed since the last look.
  struct Changes {
    /// Whether all cookies were removed, before those below were set.
    var areRemoved = false
    var added: [HTTPCookie] = []
    /// The fingerprints of cookies that were removed or replaced before they expired.
    var removed: Set<String> = []
  }

  private let storage: HTTPCookieStorage
  private var last: [HTTPCookie] = []
  /// The adopted cookies: the expiry date by the fingerprint; `.some(nil)` if they have none, or if it is not known.
  private var known: [String: Date?] = [:]
  /// Whether this run has looked before.
  private var isOpen = false
  /// Whether the storage had the mark at the last look, of this or of an earlier run. It has none if its policy is to
  /// accept no cookies.
  private(set) var isMarked: Bool

  /// - Parameter isMarked: whether an earlier run has set the mark.
  init(_ storage: HTTPCookieStorage, isMarked: Bool) { (self.storage, self.isMarked) = (storage, isMarked) }

  /// Returns the changes since the last look; nil if there are none.
  mutating func changes(at now: Date = .now) -> Changes? {
    let cookies = storage.cookies ?? []
    if isOpen, cookies.elementsEqual(last, by: ===) { return nil }
    var changes = Changes()
    let hasMark = cookies.contains { Self.isOwn($0, named: Self.markName) }
    if !hasMark {
      changes.areRemoved = isMarked
      if isMarked { known = [:] }
    } else if !isOpen {
      known = Self.list(in: cookies.first { Self.isOwn($0, named: Self.listName) }?.value ?? "")
    }
    let current = Dictionary(
      cookies.filter { $0.domain != Self.domain }.map { (Self.fingerprint(of: $0), $0) }, uniquingKeysWith: { $1 })
    changes.added = current.filter { known[$0.key] == nil }.map(\.value)
    let missing = known.filter { current[$0.key] == nil }
    changes.removed = Set(missing.filter { $0.value.map { $0 > now } ?? true }.keys)
    known = current.mapValues { $0.isSessionOnly ? nil : $0.expiresDate }
    isOpen = true
    if !hasMark { set(Self.markName, "1") }
    setList(current.values.filter { !$0.isSessionOnly })
    last = storage.cookies ?? []
    isMarked = last.contains { Self.isOwn($0, named: Self.markName) }
    return changes
  }

  /// Removes all cookies of the storage.
  mutating func removeAll() {
    storage.removeCookies(since: .distantPast)
    (known, isMarked) = ([:], false)
  }

  /// Returns a text that two cookies share only if they have the same name, domain, path and value.
  static func fingerprint(of cookie: HTTPCookie) -> String {
    fingerprint(cookie.name, cookie.domain, cookie.path, cookie.value)
  }

  /// Returns the text for a cookie that was adopted from the storage.
  static func fingerprint(of cookie: Cookie) -> String {
    fingerprint(cookie.name, (cookie.isHostOnly ? "" : ".") + cookie.domain, cookie.path, cookie.value)
  }

  private static func fingerprint(_ parts: String...) -> String {
    String(Fingerprint.of(parts.map { "\($0.utf8.count):\($0)" }.joined()).prefix(32))
  }

  // MARK: - The cookies of this module

  /// A domain that cannot exist (RFC 6761 §6.4), so the cookies are never sent.
  private static let domain = "sap-foundation.invalid"
  private static let markName = "kept"
  private static let listName = "adopted"

  private static func isOwn(_ cookie: HTTPCookie, named name: String) -> Bool {
    cookie.domain == domain && cookie.name == name
  }

  private func set(_ name: String, _ value: String) {
    let cookie = HTTPCookie(properties: [
      .name: name, .value: value, .domain: Self.domain, .path: "/", .expires: Date.distantFuture,
    ])
    if let cookie { storage.setCookie(cookie) }
  }

  /// Reads the list: fingerprints and, after a dot, the seconds of the expiry dates, which earlier versions did not
  /// write.
  private static func list(in value: String) -> [String: Date?] {
    let entries = value.split(separator: "-").map { $0.split(separator: ".") }
    return Dictionary(
      entries.map { parts in
        let seconds = parts.count > 1 ? Double(parts[1]) : nil
        return (String(parts[0]), seconds.map { Date(timeIntervalSince1970: $0) })
      }, uniquingKeysWith: { $1 })
  }

  private func setList(_ cookies: [HTTPCookie]) {
    let entries = cookies.map { cookie in
      let seconds = cookie.expiresDate.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
      return Self.fingerprint(of: cookie) + (seconds.map { ".\($0)" } ?? "")
    }
    let value = entries.sorted().joined(separator: "-")
    let old = storage.cookies?.first { Self.isOwn($0, named: Self.listName) }
    guard (old?.value ?? "") != value else { return }
    if value.isEmpty { old.map(storage.deleteCookie) } else { set(Self.listName, value) }
  }
}

import MartletSemantics

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
///   again over newer ones of a server. It has hashes, no values.
struct SharedCookies {
  /// What has changed since the last look.
  struct Changes {
    /// Whether all cookies were removed, before those below were set.
    var areRemoved = false
    var added: [HTTPCookie] = []
    /// The fingerprints of cookies that were removed or replaced.
    var removed: Set<String> = []
  }

  private let storage: HTTPCookieStorage
  private var last: [HTTPCookie] = []
  /// The fingerprints of the adopted cookies.
  private var known: Set<String> = []
  /// Whether this run has looked before.
  private var isOpen = false
  /// Whether the storage had the mark at the last look, of this or of an earlier run. It has none if its policy is to
  /// accept no cookies.
  private(set) var isMarked: Bool

  /// - Parameter isMarked: whether an earlier run has set the mark.
  init(_ storage: HTTPCookieStorage, isMarked: Bool) { (self.storage, self.isMarked) = (storage, isMarked) }

  /// Returns the changes since the last look; nil if there are none.
  mutating func changes() -> Changes? {
    let cookies = storage.cookies ?? []
    if isOpen, cookies.elementsEqual(last, by: ===) { return nil }
    var changes = Changes()
    let hasMark = cookies.contains { Self.isOwn($0, named: Self.markName) }
    if !hasMark {
      changes.areRemoved = isMarked
      if isMarked { known = [] }
    } else if !isOpen {
      let list = cookies.first { Self.isOwn($0, named: Self.listName) }?.value ?? ""
      known = Set(list.split(separator: "-").map(String.init))
    }
    let current = Dictionary(
      cookies.filter { $0.domain != Self.domain }.map { (Self.fingerprint(of: $0), $0) }, uniquingKeysWith: { $1 })
    changes.added = current.filter { !known.contains($0.key) }.map(\.value)
    changes.removed = known.subtracting(current.keys)
    known = Set(current.keys)
    isOpen = true
    if !hasMark { set(Self.markName, "1") }
    setList(current.values.filter { !$0.isSessionOnly }.map(Self.fingerprint).sorted())
    last = storage.cookies ?? []
    isMarked = last.contains { Self.isOwn($0, named: Self.markName) }
    return changes
  }

  /// Removes all cookies of the storage.
  mutating func removeAll() {
    storage.removeCookies(since: .distantPast)
    (known, isMarked) = ([], false)
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

  private func setList(_ fingerprints: [String]) {
    let value = fingerprints.joined(separator: "-")
    let old = storage.cookies?.first { Self.isOwn($0, named: Self.listName) }
    guard (old?.value ?? "") != value else { return }
    if value.isEmpty { old.map(storage.deleteCookie) } else { set(Self.listName, value) }
  }
}

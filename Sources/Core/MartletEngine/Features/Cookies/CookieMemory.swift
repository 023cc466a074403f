import MartletSemantics
import Synchronization

/// The state in memory that the jars of one store's partitions share.
final class CookieMemory: Sendable {
  let accesses = Mutex(CookieAccesses())
  /// The values that are paired with CSRF tokens; see ``CookieJar/holdsSession(of:in:)``.
  let paired = Mutex<[PairedCookie: String]>([:])
  /// The sites of hosts. Every request needs one.
  let sites = KnownTexts()
  private let marks = KnownTexts()
  /// Set when all cookies are removed.
  let signOut = SignOutMark()
  private let signOuts = Mutex(PartitionSignOuts())

  /// A cookie in a partition.
  struct PairedCookie: Hashable {
    let mark: String
    let identity: Cookie.Identity
  }

  /// Returns the suffix of a partition's sites in the store: ``CookieJar/mark``.
  func mark(of partition: String) -> String {
    partition.isEmpty ? "" : marks.value(for: partition) { "/" + Fingerprint.of(partition) }
  }

  /// Records that the cookies of a partition were removed because its user signs out.
  func signOut(of mark: String) { signOuts.withLock { $0.set(mark) } }

  /// Whether there was a sign-out of a partition after a call began.
  func hasSignedOut(_ mark: String, since begun: UInt64) -> Bool {
    signOut.isAfter(begun) || signOuts.withLock { $0.isAfter(begun, mark) }
  }
}

/// The sign-outs of the partitions. Of the oldest, only the latest is kept and counts for all partitions: their calls
/// ended long ago.
struct PartitionSignOuts {
  private var marks: [String: SignOutMark] = [:]
  private var forgotten: UInt64 = 0
  private static let limit = 1024

  mutating func set(_ mark: String) {
    let signOut = SignOutMark()
    signOut.set()
    marks[mark] = signOut
    guard marks.count > Self.limit else { return }
    let oldest = marks.sorted { $0.value.last < $1.value.last }.prefix(Self.limit / 2)
    for (mark, signOut) in oldest {
      marks[mark] = nil
      forgotten = max(forgotten, signOut.last)
    }
  }

  func isAfter(_ begun: UInt64, _ mark: String) -> Bool { begun < forgotten || marks[mark]?.isAfter(begun) == true }
}

/// Computed texts, of which the last few hundred are kept.
final class KnownTexts: Sendable {
  private let known = Mutex<[String: String]>([:])

  func value(for key: String, _ make: () -> String) -> String {
    if let value = known.withLock({ $0[key] }) { return value }
    let value = make()
    known.withLock { known in
      if known.count >= 256 { known = [:] }
      known[key] = value
    }
    return value
  }
}

#if os(Linux)
import CPSL
public import MartletSemantics

extension PublicSuffixes {
  /// The system's Public Suffix List, private registries such as `github.io` included: the newest of the file that the
  /// distribution keeps up to date and what libpsl was built with. Read when it is first used.
  public static let system: PublicSuffixes = {
    guard let list = SuffixList() else { return .singleLabels }
    return PublicSuffixes { list.contains($0) }
  }()
}

/// libpsl's list, loaded once and kept for the life of the process. It is never changed, and libpsl's look-ups only read:
/// any task may ask. What is kept is its address, because a pointer is not `Sendable`.
private struct SuffixList: Sendable {
  private let address: UInt

  /// Loads the list; nil if there is none at all.
  init?() {
    guard let list = psl_latest(nil) ?? psl_builtin() else { return nil }
    address = UInt(bitPattern: list)
  }

  func contains(_ domain: String) -> Bool { psl_is_public_suffix(OpaquePointer(bitPattern: address), domain) == 1 }
}
#endif

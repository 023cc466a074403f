@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// The resources whose deprecation a listener has reported, so that each is reported once.
///
/// A resource is an origin with a path, without its query. At most the last 1000 are kept, with 1 MiB of paths.
@_spi(Toolkit) public final class DeprecationMemory: Sendable {
  private let reported = Mutex(LRUStorage<String, Dates>(costLimit: 1 << 20, countLimit: 1000))

  public init() {}

  /// The parts of a notice whose change is reported again. Links may be long, and are not kept.
  private struct Dates: Sendable, Equatable {
    let isDeprecated: Bool
    let deprecation: Date?
    let sunset: Date?
  }

  /// Returns the notice of a response if there is one, and it differs from the last one of the same resource.
  public func newNotice(of head: ResponseHead, from url: URL) -> DeprecationNotice? {
    guard let notice = head.fields.deprecationNotice(), let origin = Origin(url) else { return nil }
    let resource = "\(origin)\(url.path(percentEncoded: true))"
    let dates = Dates(isDeprecated: notice.isDeprecated, deprecation: notice.deprecation, sunset: notice.sunset)
    let isNew = reported.withLock { reported in
      guard reported.use(resource) != dates else { return false }
      _ = reported.set(dates, cost: resource.utf8.count, for: resource)
      return true
    }
    return isNew ? notice : nil
  }
}

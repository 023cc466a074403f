import MartletEngine
public import MartletSemantics

/// What a picture is kept by: the request's URL, partition and all fields of its own, and the size and processors.
///
/// ```swift
/// ImageCache.shared[ImageKey(url)] = image            // the picture in full size
/// ImageCache.shared[loader.key(for: request)] = nil
/// ```
public struct ImageKey: Sendable, Hashable {
  let route: RequestRoute
  /// Not 0 where the answer is for one request alone.
  let instance: UInt64
  let rendition: Rendition

  init(_ route: RequestRoute, instance: UInt64 = 0, _ rendition: Rendition) {
    self.route = route
    self.instance = instance
    self.rendition = rendition
  }

  /// The key of a URL's picture in full size, as a request without fields of its own asks for it.
  ///
  /// - Parameters:
  ///   - url: the URL; its fragment and user information do not matter.
  ///   - partition: whose picture it is; see `RequestOptions.cachePartition`. The empty one by default.
  public init(_ url: URL, partition: String = "") {
    self.init(RequestRoute(CacheKey(url, partition: partition), all: [:]), Rendition())
  }

  /// Whose picture it is.
  public var partition: String { route.key.partition }
}

extension ImageKey: CustomStringConvertible, CustomReflectable {
  /// The URL without what may be secret in it, the size, the processors.
  public var description: String {
    let size = rendition.targetSize.map { " \(rendition.contentMode) \($0)" } ?? ""
    return (["\(route)\(size)"] + rendition.processors).joined(separator: ", ")
  }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["key": description]) }
}

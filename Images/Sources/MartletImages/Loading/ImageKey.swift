@_spi(Toolkit) import MartletEngine
public import MartletSemantics

/// The key of an image in an ``ImageCache``: the request's URL, partition and own fields, the size and the processors.
///
/// ```swift
/// ImageCache.shared[ImageKey(url)] = image            // the image in full size
/// ImageCache.shared[loader.key(for: request)] = nil
/// ```
public struct ImageKey: Sendable, Hashable {
  let request: RequestIdentity
  /// Different for each request whose response is for that request alone; 0 for all others.
  let instance: UInt64
  let rendition: Rendition

  init(_ request: RequestIdentity, instance: UInt64 = 0, _ rendition: Rendition) {
    self.request = request
    self.instance = instance
    self.rendition = rendition
  }

  /// Makes the key of a URL's full-size image, for a request without fields of its own.
  ///
  /// - Parameters:
  ///   - url: the URL; its fragment and user information are ignored.
  ///   - partition: the user whose image it is; see `RequestOptions.partition`. Empty by default.
  public init(_ url: URL, partition: String = "") {
    let key = LocalImage(url)?.cacheKey(partition: partition) ?? CacheKey(url, partition: partition)
    self.init(RequestIdentity(key, all: [:]), Rendition())
  }

  /// The user whose image it is; see `RequestOptions.partition`.
  public var partition: String { request.key.partition }
}

extension ImageKey: CustomStringConvertible, CustomReflectable {
  /// The URL without secrets, the size and the processors.
  public var description: String {
    let size = rendition.targetSize.map { " \(rendition.contentMode) \($0)" } ?? ""
    return (["\(request)\(size)"] + rendition.processors).joined(separator: ", ")
  }

  /// The description only, so that `dump` shows no secrets.
  public var customMirror: Mirror { Mirror(self, children: ["key": description]) }
}

/// The number of images since the loader was made, by source: for a status line.
public struct ImageStatistics: Sendable, Hashable {
  /// The sums for the images of one source.
  public struct Totals: Sendable, Hashable {
    /// The number of images.
    public var count = 0
    /// The bytes of their files; for images from memory, the bytes that did not have to be loaded.
    public var bytes: Int64 = 0
    /// The sum of their loading times; zero for images from memory.
    public var time = Duration.zero
  }

  private var totals: [ImageSource: Totals] = [:]
  /// The number of failed loads.
  public internal(set) var failures = 0
  /// The number of callers that got the error of an earlier load; see ``ImageLoadError/isRemembered``.
  public internal(set) var rememberedFailures = 0
  /// The number of callers that joined the load of another caller.
  public internal(set) var shared = 0

  /// The sums for the images of a source.
  public subscript(source: ImageSource) -> Totals { totals[source] ?? Totals() }

  mutating func add(_ image: LoadedImage, from source: ImageSource, in time: Duration = .zero) {
    totals[source, default: Totals()].count += 1
    totals[source, default: Totals()].bytes += Int64(image.encodedBytes)
    totals[source, default: Totals()].time += time
  }
}

/// How many pictures came from where since the loader was made: for a status line.
public struct ImageStatistics: Sendable, Hashable {
  /// The pictures of one source.
  public struct Tally: Sendable, Hashable {
    /// How many there were.
    public var count = 0
    /// The bytes of their files; for pictures from memory, those that did not have to be loaded.
    public var bytes: Int64 = 0
    /// How long loading them took, together; of those from memory no time is taken.
    public var time = Duration.zero
  }

  private var tallies: [ImageSource: Tally] = [:]
  /// Loads that failed.
  public internal(set) var failures = 0
  /// Callers who were answered with a failure that was remembered.
  public internal(set) var rememberedFailures = 0
  /// Callers who joined a load that was under way.
  public internal(set) var shared = 0

  /// The pictures of a source.
  public subscript(source: ImageSource) -> Tally { tallies[source] ?? Tally() }

  mutating func add(_ image: LoadedImage, from source: ImageSource, in time: Duration = .zero) {
    tallies[source, default: Tally()].count += 1
    tallies[source, default: Tally()].bytes += Int64(image.encodedBytes)
    tallies[source, default: Tally()].time += time
  }
}

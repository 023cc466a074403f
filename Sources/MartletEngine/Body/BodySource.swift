public import MartletSemantics

/// Where the bytes of a body come from, pulled a chunk at a time by one reader.
public protocol BodySource: Sendable {
  /// The next bytes, never empty; nil at the end, and ever after.
  ///
  /// It suspends until there are some, and ends with an error when the task is cancelled. Nobody calls it again before
  /// it has returned.
  func next() async throws -> Data?

  /// Gives the rest up. Called when a reader stops early; may be called more than once, and after the end.
  func cancel()

  /// The trailer fields, complete once ``next()`` has returned nil.
  var trailers: HTTPFields { get }
}

extension BodySource {
  /// Nothing to give up.
  public func cancel() {}
  /// No trailers.
  public var trailers: HTTPFields { [:] }
}

/// How far a body has come.
public struct TransferProgress: Sendable, Hashable {
  /// Which of the two bodies moved.
  public enum Direction: Sendable, Hashable {
    /// The request's body, on its way out.
    case sent
    /// The response's body, counted when the reader takes it, after decompression.
    case received
  }

  /// Which of the two bodies moved.
  public var direction: Direction
  /// Bytes so far, in this attempt.
  public var completed: Int64
  /// Bytes in all, nil where that is not known.
  public var total: Int64?

  /// Makes a progress value.
  public init(_ direction: Direction, completed: Int64, total: Int64?) {
    self.direction = direction
    self.completed = completed
    self.total = total
  }

  /// Between 0 and 1, nil where the total is not known.
  public var fraction: Double? {
    guard let total else { return nil }
    return total == 0 ? 1 : Double(completed) / Double(total)
  }
}

extension Event {
  /// How much of a body has been transferred.
  public struct Progress: Sendable, Hashable {
    /// The direction of a transfer.
    public enum Direction: Sendable, Hashable {
      /// The request's body, as it is sent.
      case sent
      /// The response's body, counted when it is read, after decompression.
      case received
    }

    /// The direction.
    public var direction: Direction
    /// The bytes so far, in this attempt.
    public var completed: Int64
    /// The bytes of the whole body; nil if that is not known.
    public var total: Int64?

    /// Makes a progress value.
    public init(_ direction: Direction, completed: Int64, total: Int64?) {
      self.direction = direction
      self.completed = completed
      self.total = total
    }

    /// The completed part, from 0 to 1; nil if the total is not known.
    public var fraction: Double? {
      guard let total else { return nil }
      return total == 0 ? 1 : Double(completed) / Double(total)
    }
  }
}

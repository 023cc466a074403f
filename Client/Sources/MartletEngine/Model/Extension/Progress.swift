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
    /// The bytes so far: the bytes of this attempt and, in a resumed download, of earlier responses.
    public var completed: Int64
    /// The bytes of the whole body, or of the whole file that is downloaded; nil if that is not known.
    public var total: Int64?
    /// How many of the ``completed`` bytes earlier responses brought; 0 unless a download is resumed.
    public var offset: Int64 = 0

    /// Makes a progress value.
    public init(_ direction: Direction, completed: Int64, total: Int64?) {
      self.direction = direction
      self.completed = completed
      self.total = total
    }

    init(_ direction: Direction, completed: Int64, total: Int64?, offset: Int64) {
      self.init(direction, completed: completed, total: total)
      self.offset = offset
    }

    /// The completed part, from 0 to 1; nil if the total is not known.
    public var fraction: Double? {
      guard let total else { return nil }
      return total == 0 ? 1 : Double(completed) / Double(total)
    }
  }
}

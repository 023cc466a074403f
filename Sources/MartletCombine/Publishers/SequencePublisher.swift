#if !canImport(Combine)
extension Publishers {
  /// Delivers the elements of a sequence, each when it is asked for.
  public struct Sequence<Elements: Swift.Sequence, Failure: Error>: Publisher {
    /// An element.
    public typealias Output = Elements.Element
    /// The elements.
    public let sequence: Elements

    /// Makes a publisher of a sequence.
    public init(sequence: Elements) { self.sequence = sequence }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      var rest = sequence.makeIterator()
      // One ahead, so that the completion follows the last value without being asked for.
      var ahead = rest.next()
      let isEmpty = ahead == nil
      outlet.connect(pull: {
        guard let value = ahead else { return nil }
        ahead = rest.next()
        return ahead == nil ? .last(value) : .value(value)
      })
      subscriber.receive(subscription: outlet)
      if isEmpty { outlet.finish(.finished) }
    }
  }
}

extension Swift.Sequence {
  /// A publisher of the elements.
  public var publisher: Publishers.Sequence<Self, Never> { Publishers.Sequence(sequence: self) }
}
#endif

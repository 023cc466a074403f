#if canImport(Darwin)
public import Combine
#endif

/// Delivers the elements of an asynchronous sequence, such as the messages of a WebSocket or server-sent events. The
/// sequence is iterated once for each subscriber, from its first demand on, and an element is asked for only when it
/// was requested. The iteration is cancelled with the subscription.
///
/// ```swift
/// let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
/// let subscription = AsyncSequencePublisher(numbers).sink { number in print(number) }
/// continuation.yield(1)
/// ```
public struct AsyncSequencePublisher<Base: AsyncSequence & Sendable>: Publisher where Base.Element: Sendable {
  public typealias Output = Base.Element
  public typealias Failure = Base.Failure

  private let base: Base

  /// Makes a publisher of the elements of a sequence.
  public init(_ base: Base) { self.base = base }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    CallbackPublisher<Output, Failure>("AsyncSequencePublisher", starting: .withTheFirstRequest) { [base] receiver in
      let task = Task { await Self.iterate(base, receiver) }
      return { task.cancel() }
    }.receive(subscriber: subscriber)
  }

  private static func iterate(_ base: Base, _ receiver: CallbackPublisher<Output, Failure>.Receiver) async {
    var iterator = base.makeAsyncIterator()
    while await receiver.waitForRequest() {
      do throws(Failure) {
        guard let element = try await iterator.next(isolation: nil) else { return receiver.finish(.finished) }
        receiver.send(element)
      } catch { return receiver.finish(.failure(error)) }
    }
  }
}

#if !canImport(Darwin)
/// The namespace of subscriptions, as in Combine.
public enum Subscriptions {
  /// A subscription of a publisher that delivers nothing any more: requests and cancellation have no effect.
  public static var empty: any Subscription { EmptySubscription.shared }

  private final class EmptySubscription: Subscription, CustomStringConvertible, Sendable {
    static let shared = EmptySubscription()

    var description: String { "Empty" }

    func request(_ demand: Subscribers.Demand) {}

    func cancel() {}
  }
}
#endif

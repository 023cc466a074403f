package import MartletEngine

/// An observer that is an interceptor of the engine: the session lets it prepare and review at its place in the order of
/// registration, in the engine's own terms, and does not ask its `willSend` and `didReceive response`.
package protocol InterceptingObserver: SAPURLSessionObserving {
  /// What prepares requests and reviews outcomes.
  var interceptor: any Interceptor { get }
}

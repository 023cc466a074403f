public import MartletCombine
package import MartletEngine
import Synchronization

/// Knows whether something is going on in the network: for an indicator of the app's own, because the system's has gone.
///
/// ```swift
/// for await isVisible in NetworkActivityIndicatorController.shared.visibility { spinner.isHidden = !isVisible }
/// ```
///
/// All sessions whose ``NetworkActivityIndicatorObserver`` is registered count together. From any thread.
public final class NetworkActivityIndicatorController: Sendable {
  /// The one that all observers use which are not given another.
  public static let shared = NetworkActivityIndicatorController()

  let counter = TaskCounter()
  private let byHand = Mutex<[UInt64]>([])
  private let changes = Handed(value: CurrentValueSubject<Bool, Never>(false))

  /// Makes a controller of its own, for an app that has several indicators.
  public init() { counter.onChange { [changes] _, isActive in changes.value.send(isActive) } }

  /// Whether the indicator is to be seen: whether anything is going on.
  public var isVisible: Bool { counter.isActive }

  /// Whether the indicator is to be seen, as it changes, beginning with what is so. Whoever is slow sees the last state.
  public var visibility: AsyncStream<Bool> { counter.activity }

  /// The same as a publisher.
  public var visibilityPublisher: AnyPublisher<Bool, Never> {
    changes.value.removeDuplicates().eraseToAnyPublisher()
  }

  /// Counts one more: something the app does by itself.
  public func shouldShowActivityIndicator() {
    let number = counter.begin()
    byHand.withLock { $0.append(number) }
  }

  /// Counts one less of what was counted by ``shouldShowActivityIndicator()``; without any, it changes nothing.
  public func shouldHideActivityIndicator() {
    if let number = byHand.withLock({ $0.popLast() }) { counter.end(number) }
  }
}

/// Shows the activity of a session in a ``NetworkActivityIndicatorController``.
///
/// A task counts from its first step until its body was read, or it failed, was cancelled or was stopped by another observer;
/// sending it again changes nothing. A task that runs when the observer is unregistered counts to its end.
public final class NetworkActivityIndicatorObserver: SAPURLSessionObserving, Sendable {
  private let controller: NetworkActivityIndicatorController

  /// Makes an observer for the shared controller.
  public init() { controller = .shared }

  /// Makes an observer for another controller.
  public init(controller: NetworkActivityIndicatorController) { self.controller = controller }

  /// An observer for the same controller.
  public func copy() -> Any? { NetworkActivityIndicatorObserver(controller: controller) }
}

extension NetworkActivityIndicatorObserver: ListeningObserver {
  package var listener: any EventListener { controller.counter }
}

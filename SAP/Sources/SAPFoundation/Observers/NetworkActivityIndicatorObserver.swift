import MartletEngine
@_spi(Toolkit) import MartletObservation
import Synchronization

/// Counts network activity, for an activity indicator of the app. (iOS no longer has an indicator of its own.)
///
/// ```swift
/// for await isVisible in NetworkActivityIndicatorController.shared.visibility { spinner.isHidden = !isVisible }
/// ```
///
/// The tasks of all sessions with a ``NetworkActivityIndicatorObserver`` are counted together. Any thread may use the
/// controller.
public final class NetworkActivityIndicatorController: Sendable {
  /// The controller that observers use by default.
  public static let shared = NetworkActivityIndicatorController()

  let counter = TaskCounter()
  private let ownNumbers = Mutex<[UInt64]>([])
  private let changes = UncheckedSendable(value: CurrentValueSubject<Bool, Never>(false))

  /// Makes a controller, for an app with several indicators.
  public init() { counter.onChange { [changes] _, isActive in changes.value.send(isActive) } }

  /// Whether to show the indicator: whether there is any activity.
  public var isVisible: Bool { counter.isActive }

  /// The current and the later values of ``isVisible``. A slow reader gets only the latest value.
  public var visibility: AsyncStream<Bool> { counter.activity }

  /// The values of ``isVisible``, as a publisher.
  public var visibilityPublisher: AnyPublisher<Bool, Never> {
    changes.value.removeDuplicates().eraseToAnyPublisher()
  }

  /// Adds an activity of the app to the count.
  public func shouldShowActivityIndicator() {
    let number = counter.begin()
    ownNumbers.withLock { $0.append(number) }
  }

  /// Removes an activity that ``shouldShowActivityIndicator()`` added; does nothing if there is none.
  public func shouldHideActivityIndicator() {
    if let number = ownNumbers.withLock({ $0.popLast() }) { counter.end(number) }
  }
}

/// Adds the tasks of a session to the count of a ``NetworkActivityIndicatorController``.
///
/// A task is counted from its first attempt until its body was read, or it failed, was cancelled or was failed by
/// another observer. If its request is sent again, it is still counted once. A running task is counted until it
/// completes, even if the observer is unregistered before.
///
/// A subclass may override any callback; counting does not depend on them.
open class NetworkActivityIndicatorObserver: SAPURLSessionObserver {
  private let controller: NetworkActivityIndicatorController

  /// Makes an observer for the shared controller.
  public override init() { controller = .shared }

  /// Makes an observer for another controller.
  public init(controller: NetworkActivityIndicatorController) { self.controller = controller }

  /// Returns an observer for the same controller. A subclass has to override it, because the copy is of this class.
  open override func copy() -> Any? { NetworkActivityIndicatorObserver(controller: controller) }
}

extension NetworkActivityIndicatorObserver: ListeningObserver {
  var listener: any EventListener { controller.counter }
}

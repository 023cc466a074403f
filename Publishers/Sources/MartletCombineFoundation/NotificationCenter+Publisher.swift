#if !canImport(Darwin)
public import Foundation
@_spi(Toolkit) public import MartletCombine

extension NotificationCenter {
  /// Makes a publisher of the notifications with a name, of all objects or one. It never completes. A notification that
  /// a subscriber has not requested is lost.
  ///
  /// - Parameters:
  ///   - name: the name of the notifications.
  ///   - object: the object that has to post them; nil for any. The publisher retains it.
  public func publisher(for name: Notification.Name, object: AnyObject? = nil) -> Publisher {
    Publisher(center: self, name: name, object: object)
  }

  /// The publisher that ``publisher(for:object:)`` returns.
  public struct Publisher: MartletCombine.Publisher, Equatable {
    /// A notification.
    public typealias Output = Notification
    /// The publisher never fails.
    public typealias Failure = Never

    /// The notification center.
    public let center: NotificationCenter
    /// The name of the notifications.
    public let name: Notification.Name
    /// The object that has to post them; nil for any.
    public let object: AnyObject?

    /// Makes the publisher, like ``NotificationCenter/publisher(for:object:)``.
    public init(center: NotificationCenter, name: Notification.Name, object: AnyObject? = nil) {
      self.center = center
      self.name = name
      self.object = object
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Notification, S.Failure == Never {
      CallbackPublisher<Notification, Never>("NotificationCenter Observer", starting: .withTheSubscription) {
        receiver in
        let token = center.addObserver(forName: name, object: object, queue: nil) { receiver.send($0) }
        return { [center] in center.removeObserver(token) }
      }.receive(subscriber: subscriber)
    }

    /// Compares the notification centers, the names and the identities of the objects.
    public static func == (left: Self, right: Self) -> Bool {
      left.center === right.center && left.name == right.name && left.object === right.object
    }
  }
}
#endif

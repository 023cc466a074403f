/// Shows and hides the app for an ``OnboardingSessionManager``. All methods have defaults, which do nothing.
///
/// Newer apps get the identifier of a scene in two methods; the others are called if a class has only these. The
/// manager has no scenes, and passes nil. The methods are called on any thread, one at a time. Call each handler once.
public protocol ApplicationUIManaging: AnyObject {
  /// Hides the app, because it is locked.
  func hideApplicationScreen(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Hides the app, because it is locked.
  func hideApplicationScreen(scene sessionID: String?, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Shows that a user onboards or returns.
  func showSplashScreenForOnboarding(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Shows that the app is being unlocked.
  func showSplashScreenForUnlock(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Shows the app.
  func showApplicationScreen(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Shows the app.
  func showApplicationScreen(scene sessionID: String?, completionHandler: @escaping @Sendable ((any Error)?) -> Void)
}

extension ApplicationUIManaging {
  public func hideApplicationScreen(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }

  public func hideApplicationScreen(
    scene sessionID: String?, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) { hideApplicationScreen(completionHandler: completionHandler) }

  public func showSplashScreenForOnboarding(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }

  public func showSplashScreenForUnlock(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }

  public func showApplicationScreen(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }

  public func showApplicationScreen(
    scene sessionID: String?, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) { showApplicationScreen(completionHandler: completionHandler) }
}

/// Shows nothing, for a program without screens.
public final class NoApplicationUI: ApplicationUIManaging, Sendable {
  /// Makes it.
  public init() {}
}

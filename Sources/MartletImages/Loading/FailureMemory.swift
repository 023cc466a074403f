import MartletEngine

/// The loads that failed lately, so that a list that is drawn again and again does not ask for them again and again.
struct FailureMemory: Sendable {
  /// What failed: a rendition, or, without one, the file.
  private struct Failed: Sendable, Hashable {
    let route: RequestRoute
    let rendition: Rendition?
  }

  private struct Failure: Sendable {
    let error: ImageLoadError
    let since: Stopwatch
  }

  let age: Duration
  let clock: any Clock<Duration>
  private var failures = RecentlyUsed<Failed, Failure>(countLimit: 1000)

  init(age: Duration, clock: any Clock<Duration>) {
    self.age = age
    self.clock = clock
  }

  /// The error of that picture, if it failed not longer ago than ``age``.
  mutating func error(for key: ImageKey) -> ImageLoadError? {
    guard key.instance == 0 else { return nil }
    for rendition in [nil, key.rendition] {
      let failed = Failed(route: key.route, rendition: rendition)
      guard let failure = failures.use(failed) else { continue }
      guard failure.since.elapsed < age else {
        failures.remove(failed)
        continue
      }
      var error = failure.error
      error.isRemembered = true
      return error
    }
    return nil
  }

  /// Remembers a failure: of one rendition, or of the file that all are made of. A cancelled load has not failed, and of one
  /// that asked the origin alone it is not known whether the picture is stored.
  mutating func note(_ error: ImageLoadError, of identity: LoadTable.Identity, _ rendition: Rendition? = nil) {
    guard error.kind != .cancelled, error.httpError?.kind != .notCached, identity.instance == 0, !identity.isReload
    else { return }
    let failed = Failed(route: identity.route, rendition: rendition)
    failures.set(Failure(error: error, since: Stopwatch(clock)), for: failed)
  }

  /// Forgets what is known of a picture, and of its file.
  mutating func forget(_ key: ImageKey) {
    for rendition in [nil, key.rendition] {
      failures.remove(Failed(route: key.route, rendition: rendition))
    }
  }

  mutating func forgetAll() { failures.removeAll { _ in true } }
}

@_spi(Toolkit) import MartletEngine

/// The loads that failed recently. A list that is redrawn often thus does not repeat their requests.
struct FailureMemory: Sendable {
  /// A failure of a rendition, or, if that is nil, of the file.
  private struct Failed: Sendable, Hashable {
    let request: RequestIdentity
    let rendition: Rendition?
  }

  private struct Failure: Sendable {
    let error: ImageLoadError
    let since: Stopwatch
  }

  let age: Duration
  let clock: any Clock<Duration>
  private var failures = LRUStorage<Failed, Failure>(countLimit: 1000)

  init(age: Duration, clock: any Clock<Duration>) {
    self.age = age
    self.clock = clock
  }

  /// Returns the error of an image that failed within the last ``age``.
  mutating func error(for key: ImageKey) -> ImageLoadError? {
    guard key.instance == 0 else { return nil }
    for rendition in [nil, key.rendition] {
      let failed = Failed(request: key.request, rendition: rendition)
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

  /// Stores the failure of one rendition, or of the file. Cancelled loads are not stored. Loads that failed because the
  /// request may only be answered by the cache are not stored either, because another request may succeed.
  mutating func note(_ error: ImageLoadError, of identity: LoadTable.Identity, _ rendition: Rendition? = nil) {
    guard error.kind != .cancelled, error.httpError?.kind != .notCached, identity.instance == 0, !identity.isReload
    else { return }
    let failed = Failed(request: identity.request, rendition: rendition)
    failures.set(Failure(error: error, since: Stopwatch(clock)), for: failed)
  }

  /// Removes the failures of an image and of its file.
  mutating func forget(_ key: ImageKey) {
    for rendition in [nil, key.rendition] {
      failures.remove(Failed(request: key.request, rendition: rendition))
    }
  }

  mutating func forgetAll() { failures.removeAll { _ in true } }
}

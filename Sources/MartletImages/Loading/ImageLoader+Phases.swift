import MartletEngine
public import MartletCombine
public import MartletSemantics

extension ImageLoader {
  /// What there is to be shown of a picture, from its placeholder to its end: for a `for await` on whatever actor draws it.
  ///
  /// Loading begins at once, and is given up when nobody keeps the stream. A reader that is busy meanwhile gets the latest
  /// phase only; the last one is never lost. For one place that shows one picture after another there is ``ImageSlot``.
  public func phases(for request: ImageRequest) -> AsyncStream<ImagePhase> {
    let (stream, continuation) = AsyncStream.makeStream(of: ImagePhase.self, bufferingPolicy: .bufferingNewest(1))
    if let image = cachedImage(for: request) {
      continuation.yield(.success(image))
      continuation.finish()
      return stream
    }
    continuation.yield(.loading(nil))
    let task = Task {
      do throws(ImageLoadError) {
        continuation.yield(.success(try await image(for: request) { continuation.yield($0) }))
      } catch {
        continuation.yield(.failure(error))
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// The phases of a URL's picture in full size.
  public func phases(for url: URL) -> AsyncStream<ImagePhase> { phases(for: ImageRequest(url)) }

  /// The phases as a publisher that never fails: each subscriber begins a load, or joins the one that is under way, when it
  /// first asks for a value, and leaves it with the subscription.
  ///
  /// ```swift
  /// loader.phasePublisher(for: request).receive(on: DispatchQueue.main).sink { show($0) }
  /// ```
  public func phasePublisher(for request: ImageRequest) -> LatestPublisher<ImagePhase> {
    LatestPublisher { self.phases(for: request) }
  }

  /// The picture as a publisher of one value. Loading begins when a subscriber first asks for it.
  public func imagePublisher(for request: ImageRequest) -> TaskPublisher<LoadedImage, ImageLoadError> {
    TaskPublisher { () async throws(ImageLoadError) in try await self.image(for: request) }
  }

  /// The picture of a URL, in full size, as a publisher of one value.
  public func imagePublisher(for url: URL) -> TaskPublisher<LoadedImage, ImageLoadError> {
    imagePublisher(for: ImageRequest(url))
  }
}

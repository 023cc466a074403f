@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

// A load: waits for a place, downloads the file, and makes the renditions that its waiters need.

extension ImageLoader {
  /// A running load.
  struct Load: Sendable {
    let number: LoadTable.Number
    let identity: LoadTable.Identity
    let requestedURL: URL
    let mayUseMemory: Bool
    let priority: PriorityBox
    /// Whether the load counts against ``Configuration/concurrentLoads``.
    let needsPlace: Bool
    /// Its place, while it has one.
    var place: LoadPlace?

    func key(_ rendition: Rendition) -> ImageKey {
      ImageKey(identity.request, instance: identity.instance, rendition)
    }
  }

  /// Runs a load to its end.
  func run(_ load: Load, _ request: HTTPRequest) async {
    do {
      guard needsDownload(load) else { return }
      let stopwatch = Stopwatch(configuration.clock)
      guard load.needsPlace else { return try await downloadAndDecode(load, request, stopwatch) }
      // The load keeps its place until the image is decoded: otherwise files that wait for decoding would fill the
      // memory.
      try await places.run(load.priority, at: Origin(request.url)) { place in
        var load = load
        load.place = place
        try await downloadAndDecode(load, request, stopwatch)
      }
    } catch {
      let failure = ImageLoadError(wrapping: error).addingContext(request.url)
      let results = state.withLock { state in
        let results = state.loads.end(load.number)
        if !results.isEmpty {
          state.failures.note(failure, of: load.identity)
          state.statistics.failures += 1
        }
        return results
      }
      for result in results { result.answer(.failure(failure)) }
    }
  }

  /// Whether the file has to be downloaded. A load that ended just before this one may have left its image in memory.
  private func needsDownload(_ load: Load) -> Bool {
    guard let waiter = state.withLock({ $0.loads.next(load.number) }) else { return false }
    guard load.mayUseMemory, var image = configuration.cache?.usableImage(for: load.key(waiter.rendition)) else {
      return true
    }
    image.source = .memory
    deliver(.success(image), as: waiter.rendition, of: load)
    return state.withLock { $0.loads.next(load.number) } != nil
  }

  private func downloadAndDecode(_ load: Load, _ request: HTTPRequest, _ stopwatch: Stopwatch) async throws {
    state.withLock { $0.loads.set(.requested, of: load.number) }
    let file = try await file(for: request, load)
    while let waiter = state.withLock({ $0.loads.next(load.number) }) {
      await decode(waiter.rendition, waiter.processors, of: file, for: load, stopwatch)
    }
  }

  private func deliver(_ result: Result<LoadedImage, any Error>, as rendition: Rendition, of load: Load) {
    for waiter in state.withLock({ $0.loads.takeWaiters(for: rendition, of: load.number) }) {
      waiter.answer(result.map(Optional.some))
    }
  }
}

// MARK: - Download

extension ImageLoader {
  /// Reads an image that needs no request, or downloads it.
  private func file(for request: HTTPRequest, _ load: Load) async throws -> ImageFileContent {
    guard let local = LocalImage(request.url) else { return try await download(request, for: load) }
    return try await executor.run(load.priority) { [limit = configuration.encodedBytesLimit] _ in
      try local.load(upTo: limit)
    }
  }

  /// Downloads a file, and reports the progress to the observers of the load.
  private func download(_ original: HTTPRequest, for load: Load) async throws -> ImageFileContent {
    var request = original
    request.options.cachePolicy = load.identity.policy
    request.options.expecting = .successful
    let (body, response) = try await response(to: request, for: load)
    state.withLock { $0.loads.set(.answered, of: load.number) }
    do {
      return ImageFileContent(data: try await collect(body, for: load), response: response)
    } catch let error as ImageLoadError {
      if error.isCausedByFile { await removeStored(original.url, response.url, load) }
      throw error.addingFile(response.head, at: response.url, requested: original.url)
        .addingContext(original.url, response.head)
    }
  }

  /// Waits for the response. If the server is late, the request fails after the response timeout, and so do all callers
  /// of the load. A load without an event for twice that time does not wait for a server. It may wait for one of its
  /// own callers, if a task without the context of its call hides this cycle. The callers that joined the load then
  /// leave it and share another one.
  private func response(to request: HTTPRequest, for load: Load) async throws -> (ResponseBody, HTTPResponse) {
    var request = request
    let watch = session.resolving(request).options.responseTimeout.map { timeout in
      LoadWatch(limit: timeout.bounded * 2, on: configuration.clock) { [self] in
        for waiter in state.withLock({ $0.loads.abandon(load.number) }) { waiter.answer(.success(nil)) }
      }
    }
    if let watch { request.options.listeners.append(watch) }
    defer { watch?.stop() }
    return try await LoadPlace.lend(load.place) { [request] in try await session.bytes(for: request) }
  }

  private func collect(_ body: ResponseBody, for load: Load) async throws -> Data {
    let limit = configuration.encodedBytesLimit
    var image = ArrivingImage(configuration, executor)
    var chunks = body.makeAsyncIterator()
    while let chunk = try await LoadPlace.lend(load.place, while: { try await chunks.next() }) {
      guard image.count + chunk.count <= limit, body.length ?? 0 <= Int64(limit) else {
        body.cancel()
        throw ImageLoadError(
          .tooLarge, "the file has more than \(limit) bytes: raise ImageLoader.Configuration.encodedBytesLimit")
      }
      let waiters = state.withLock { $0.loads.observing(load.number) }
      do {
        let preview = try await image.append(chunk, observer: waiters.first, load.priority)
        let progress = Event.Progress(.received, completed: Int64(image.count), total: body.length)
        for waiter in waiters { waiter.observer?(.loading(progress)) }
        guard let preview else { continue }
        for waiter in waiters where waiter.rendition == preview.rendition {
          waiter.observer?(.preview(preview.bitmap))
        }
      } catch {
        body.cancel()
        throw error
      }
    }
    return image.data
  }

  /// Removes stored responses that are not images, so that the next load sends a request instead of getting them again.
  private func removeStored(_ requested: URL, _ answered: URL, _ load: Load) async {
    for url in Set([requested, answered]) {
      try? await session.configuration.cache?.remove(
        .key(CacheKey(url, partition: load.identity.request.key.partition)))
    }
  }
}

// MARK: - Decoding

extension ImageLoader {
  private func decode(
    _ rendition: Rendition, _ processors: [any ImageProcessor], of file: ImageFileContent, for load: Load,
    _ stopwatch: Stopwatch
  ) async {
    let result: Result<LoadedImage, any Error>
    do {
      let image = try await executor.run(load.priority) { [options = configuration.decoding] isAbandoned in
        try file.image(as: rendition, processors, options, isAbandoned: isAbandoned)
      }
      if file.mayBeCached, load.identity.isShared { cache(image, of: file, as: load.key(rendition), for: load) }
      state.withLock { state in
        state.failures.forget(load.key(rendition))
        state.statistics.add(image, from: image.source, in: stopwatch.elapsed)
      }
      result = .success(image)
    } catch {
      result = .failure(await failure(error, making: rendition, of: file, for: load))
    }
    deliver(result, as: rendition, of: load)
  }

  /// Caches an image, unless its partition was removed in the meantime.
  private func cache(_ image: LoadedImage, of file: ImageFileContent, as key: ImageKey, for load: Load) {
    guard let cache = configuration.cache, state.withLock({ $0.loads.isRunning(load.number) }) else { return }
    let lifetime = max(file.freshness(at: Date()), configuration.memoryAge)
    guard lifetime > .zero else { return }
    let validity = ImageCache.Validity(file: file.digest, since: Stopwatch(configuration.clock), lifetime: lifetime)
    cache.store(image, valid: validity, for: key)
    if !state.withLock({ $0.loads.isRunning(load.number) }) { configuration.cache?[key] = nil }
  }

  /// Returns the error for the waiters of a rendition, after storing the failure.
  private func failure(
    _ error: any Error, making rendition: Rendition, of file: ImageFileContent, for load: Load
  ) async -> ImageLoadError {
    var failure = ImageLoadError(wrapping: error)
    if failure.kind == .cancelled { return failure }
    let isCausedByFile = failure.isCausedByFile
    failure = failure.addingFile(file.head, at: file.url, requested: load.requestedURL)
      .addingContext(load.requestedURL, file.head, isCausedByFile ? file.data : nil)
    state.withLock { [failure] state in
      state.failures.note(failure, of: load.identity, isCausedByFile ? nil : rendition)
      state.statistics.failures += 1
    }
    if isCausedByFile, let url = file.url, case .session = file.source {
      await removeStored(load.requestedURL, url, load)
    }
    return failure
  }
}

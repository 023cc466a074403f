import MartletEngine
import MartletSemantics
import Synchronization

extension ImageLoader {
  /// A load that is under way, as its task knows it.
  struct Load: Sendable {
    let number: LoadTable.Number
    let identity: LoadTable.Identity
    let asked: URL
    let mayRecall: Bool
    let urgency: Urgency

    func key(_ rendition: Rendition) -> ImageKey {
      ImageKey(identity.route, instance: identity.instance, rendition)
    }
  }

  /// One download, and as many renditions as somebody waits for.
  func run(_ load: Load, _ request: HTTPRequest) async {
    do {
      guard isWanted(load) else { return }
      let stopwatch = Stopwatch(configuration.clock)
      // The turn lasts until the file is decoded: otherwise files would pile up before the threads that decode.
      try await turns.run(load.urgency) { _ in
        let file = try await fetch(request, for: load)
        while let seat = state.withLock({ $0.loads.next(load.number) }) {
          await make(seat.rendition, seat.processors, of: file, for: load, stopwatch)
        }
      }
    } catch {
      let failure = ImageLoadError(wrapping: error).placed(at: request.url)
      let gates = state.withLock { state in
        let gates = state.loads.close(load.number)
        if !gates.isEmpty {
          state.failures.note(failure, of: load.identity)
          state.statistics.failures += 1
        }
        return gates
      }
      for gate in gates { gate.answer(.failure(failure)) }
    }
  }

  /// Whether there is anything to be loaded: a load that ended just before this one began may have left its picture in memory.
  private func isWanted(_ load: Load) -> Bool {
    guard let seat = state.withLock({ $0.loads.next(load.number) }) else { return false }
    guard load.mayRecall, var image = configuration.cache?[load.key(seat.rendition)] else { return true }
    image.source = .memory
    serve(.success(image), as: seat.rendition, of: load)
    return state.withLock { $0.loads.next(load.number) } != nil
  }

  private func make(
    _ rendition: Rendition, _ processors: [any ImageProcessor], of file: ImageFileContent, for load: Load,
    _ stopwatch: Stopwatch
  ) async {
    let result: Result<LoadedImage, any Error>
    do {
      let image = try await threads.run(load.urgency) { [options = configuration.decoding] in
        try file.image(as: rendition, processors, options)
      }
      if file.mayBeKept, load.identity.instance == 0 { keep(image, as: load.key(rendition), for: load) }
      state.withLock { state in
        state.failures.forget(load.key(rendition))
        state.statistics.add(image, from: image.source, in: stopwatch.elapsed)
      }
      result = .success(image)
    } catch {
      result = .failure(await failure(error, making: rendition, of: file, for: load))
    }
    serve(result, as: rendition, of: load)
  }

  /// Keeps a picture, unless its partition was removed meanwhile.
  private func keep(_ image: LoadedImage, as key: ImageKey, for load: Load) {
    guard state.withLock({ $0.loads.isUnderWay(load.number) }) else { return }
    configuration.cache?[key] = image
    if !state.withLock({ $0.loads.isUnderWay(load.number) }) { configuration.cache?[key] = nil }
  }

  private func failure(
    _ error: any Error, making rendition: Rendition, of file: ImageFileContent, for load: Load
  ) async -> ImageLoadError {
    var failure = ImageLoadError(wrapping: error)
    if failure.kind == .cancelled { return failure }
    let isFiles = failure.isFiles
    failure = failure.described(by: file.head, at: file.url, asked: load.asked)
      .placed(at: load.asked, file.head, isFiles ? file.data : nil)
    state.withLock { [failure] state in
      state.failures.note(failure, of: load.identity, isFiles ? nil : rendition)
      state.statistics.failures += 1
    }
    if isFiles { await forgetStored(load.asked, file.url, load) }
    return failure
  }

  /// What is no picture is not worth keeping: the next time the origin shall be asked, and not serve its wrong answer again.
  func forgetStored(_ asked: URL, _ answered: URL, _ load: Load) async {
    for url in Set([asked, answered]) {
      try? await session.cache?.remove(.key(CacheKey(url, partition: load.identity.route.key.partition)))
    }
  }

  private func serve(_ result: Result<LoadedImage, any Error>, as rendition: Rendition, of load: Load) {
    for gate in state.withLock({ $0.loads.take(rendition, of: load.number) }) { gate.answer(result) }
  }
}

import MartletEngine
import MartletSemantics
import Synchronization

extension ImageLoader {
  /// What a request means to this loader.
  struct Plan {
    let key: ImageKey
    let identity: LoadTable.Identity
    /// Whether the picture may come from memory, or its failure.
    let mayRecall: Bool

    init(_ request: ImageRequest, in loader: ImageLoader) {
      let asked = loader.session.options(of: request.http)
      let policy =
        asked.cachePolicy == .useProtocolCachePolicy ? loader.configuration.cachePolicy : asked.cachePolicy
      let shared = loader.session.route(of: request.http)
      let route = shared ?? RequestRoute(CacheKey(request.http.url, partition: asked.cachePartition), all: [:])
      let instance = shared == nil ? loader.nextInstance() : 0
      key = ImageKey(route, instance: instance, request.rendition)
      identity = LoadTable.Identity(route: route, instance: instance, policy: policy)
      mayRecall = shared != nil && !identity.isReload
    }
  }

  private func nextInstance() -> UInt64 {
    state.withLock { state in
      state.lastInstance += 1
      return state.lastInstance
    }
  }

  /// Whether the picture is in memory and may come from there.
  func hasInMemory(_ request: ImageRequest) -> Bool {
    let plan = Plan(request, in: self)
    return plan.mayRecall && configuration.cache?[plan.key] != nil
  }

  /// The picture, if it is in memory and may come from there.
  func inMemory(_ plan: Plan) -> LoadedImage? {
    guard plan.mayRecall, var image = configuration.cache?[plan.key] else { return nil }
    image.source = .memory
    image.duration = .zero
    state.withLock { [image] in $0.statistics.add(image, from: .memory) }
    return image
  }

  /// The picture, from memory or loaded; the observer is told how the load goes on.
  func image(for request: ImageRequest, observe: LoadObserver?) async throws(ImageLoadError) -> LoadedImage {
    let plan = Plan(request, in: self)
    if let image = inMemory(plan) { return image }
    if plan.mayRecall, let error = recalledFailure(plan.key) { throw error }
    let stopwatch = Stopwatch(configuration.clock)
    do {
      try Task.checkCancellation()
      var image = try await load(request, plan, observe)
      image.duration = stopwatch.elapsed
      return image
    } catch {
      throw ImageLoadError(wrapping: error).placed(at: request.http.url)
    }
  }

  private func recalledFailure(_ key: ImageKey) -> ImageLoadError? {
    state.withLock { state in
      let error = state.failures.error(for: key)
      if error != nil { state.statistics.rememberedFailures += 1 }
      return error
    }
  }

  /// Waits for the load of the picture, which is begun if it is not under way.
  private func load(_ request: ImageRequest, _ plan: Plan, _ observe: LoadObserver?) async throws -> LoadedImage {
    let seat = LoadTable.Seat(
      rendition: plan.key.rendition, processors: request.processors, priority: request.priority, gate: AnswerGate(),
      observe: observe)
    let (ticket, urgency) = state.withLock { state in
      let boarded = state.loads.board(seat, for: plan.identity)
      if boarded.new == nil { state.statistics.shared += 1 }
      return boarded
    }
    if let urgency {
      let load = Load(
        number: ticket.load, identity: plan.identity, asked: request.http.url, mayRecall: plan.mayRecall,
        urgency: urgency)
      let task = Task { await run(load, request.http) }
      if !state.withLock({ $0.loads.keep(task, for: load.number) }) { task.cancel() }
    }
    defer { state.withLock { $0.loads.leave(ticket) }?.cancel() }
    return try await seat.gate.wait()
  }
}

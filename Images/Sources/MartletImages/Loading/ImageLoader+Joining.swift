@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

// How callers find an image in memory, join a running load or begin one. `ImageLoader+Load.swift` has the load itself.

extension ImageLoader {
  /// The identities of a request in this loader.
  struct Plan {
    private(set) var key: ImageKey
    private(set) var identity: LoadTable.Identity
    /// Whether the image or its failure may come from memory.
    let mayUseMemory: Bool

    init(_ request: ImageRequest, in loader: ImageLoader) {
      let http = loader.session.resolving(request.http)
      let own = http.options.cachePolicy
      let policy = own == .useProtocolCachePolicy ? loader.configuration.cachePolicy : own
      let local = LocalImage(request.http.url)?.cacheKey(partition: http.options.partition)
      let shared = local.map { RequestIdentity($0, all: [:]) } ?? loader.session.identity(of: request.http)
      let key = CacheKey(request.http.url, partition: http.options.partition)
      let identified = shared ?? RequestIdentity(key, all: [:])
      let instance = shared == nil ? loader.nextInstance() : 0
      self.key = ImageKey(identified, instance: instance, request.rendition)
      identity = LoadTable.Identity(request: identified, instance: instance, policy: policy)
      mayUseMemory = shared != nil && !identity.isReload
    }

    /// Makes unique identities, so that the load is not shared.
    mutating func makeUnshared(in loader: ImageLoader) {
      let instance = loader.nextInstance()
      key = ImageKey(identity.request, instance: instance, key.rendition)
      identity = LoadTable.Identity(request: identity.request, instance: instance, policy: identity.policy)
    }
  }

  private func nextInstance() -> UInt64 {
    state.withLock { state in
      state.lastInstance += 1
      return state.lastInstance
    }
  }

  /// Whether the image is in memory and may come from there.
  func hasInMemory(_ request: ImageRequest) -> Bool {
    let plan = Plan(request, in: self)
    return plan.mayUseMemory && configuration.cache?.usableImage(for: plan.key) != nil
  }

  /// Returns the image if it is in memory and may come from there.
  func inMemory(_ plan: Plan) -> LoadedImage? {
    guard plan.mayUseMemory, var image = configuration.cache?.usableImage(for: plan.key) else { return nil }
    image.source = .memory
    image.duration = .zero
    state.withLock { [image] in $0.statistics.add(image, from: .memory) }
    return image
  }

  /// Returns the image from memory, or loads it; the observer gets the progress of the load.
  func image(for request: ImageRequest, observer: LoadObserver?) async throws(ImageLoadError) -> LoadedImage {
    let plan = Plan(request, in: self)
    if let image = inMemory(plan) { return image }
    if plan.mayUseMemory, let error = rememberedFailure(plan.key) { throw error }
    let stopwatch = Stopwatch(configuration.clock)
    do {
      try Task.checkCancellation()
      var image = try await load(request, plan, observer)
      image.duration = stopwatch.elapsed
      return image
    } catch {
      throw ImageLoadError(wrapping: error).addingContext(request.http.url)
    }
  }

  private func rememberedFailure(_ key: ImageKey) -> ImageLoadError? {
    state.withLock { state in
      let error = state.failures.error(for: key)
      if error != nil { state.statistics.rememberedFailures += 1 }
      return error
    }
  }

  /// Waits for the load of the image, which is started if it is not running.
  ///
  /// If a running load waits for the caller, the caller does not wait for it, but starts an unshared load.
  private func load(_ request: ImageRequest, _ plan: Plan, _ observer: LoadObserver?) async throws -> LoadedImage {
    var plan = plan
    while true {
      switch try await join(plan, request, observer) {
      case .image(let image): return image
      case .abandoned: break  // The callers of an abandoned load share another one.
      case .circular: plan.makeUnshared(in: self)
      }
    }
  }

  /// How the wait for a load ended.
  private enum Joined {
    case image(LoadedImage)
    /// The load makes no progress: it may be waiting for one of its callers.
    case abandoned
    /// The load waits for the caller.
    case circular
  }

  /// Waits for a load.
  private func join(_ plan: Plan, _ request: ImageRequest, _ observer: LoadObserver?) async throws -> Joined {
    let waiter = LoadTable.Waiter(
      rendition: plan.key.rendition, processors: request.processors, priority: request.priority, result: OneShot(),
      observer: observer)
    let context = CallContext.current
    // A load that another load needs does not wait for a place, because the other load keeps its own in the meantime.
    let isNested = context.contains(Self.workOwner)
    let membership = state.withLock { state in
      let membership = state.loads.join(
        waiter, for: plan.identity, mayQueue: !isNested, RunningWork(owner: Self.workOwner, for: context))
      if let membership, membership.priorityOfNewLoad == nil { state.statistics.shared += 1 }
      return membership
    }
    guard let membership else { return .circular }
    if let priority = membership.priorityOfNewLoad {
      let load = Load(
        number: membership.load, identity: plan.identity, requestedURL: request.http.url,
        mayUseMemory: plan.mayUseMemory, priority: priority, needsPlace: !isNested)
      let task = membership.work.context.perform { Task { await run(load, request.http) } }
      if !state.withLock({ $0.loads.setTask(task, of: load.number) }) { task.cancel() }
    } else {
      places.admitWaiting()  // The caller may have raised the priority of the load.
    }
    defer { state.withLock { $0.loads.leave(membership) }?.cancel() }
    let result: LoadedImage?? = try await membership.work.wait(in: context) { try await waiter.result.wait() }
    guard let result else { return .circular }
    return result.map(Joined.image) ?? .abandoned
  }

  /// The owner of the work of loads, for all loaders.
  static let workOwner = UniqueID()
}

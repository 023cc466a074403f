import Synchronization

/// A value that observers follow. Each observer gets the current value first, then the newest one after every change,
/// and never an older one after a newer one.
///
/// One thread at a time calls the observers, without a lock. If other threads or an observer change the value in the
/// meantime, that thread delivers the last change to all observers.
@_spi(Toolkit) public final class LatestValue<Value: Sendable>: Sendable {
  private struct Observer: Sendable {
    let update: @Sendable (Value) -> Void
    let end: @Sendable () -> Void
    /// The version of the last value that it received.
    var version = 0
  }

  private struct State: Sendable {
    var value: Value
    /// Increases with each change.
    var version = 1
    var observers: [Int: Observer] = [:]
    var lastID = 0
    /// Whether a thread is calling the observers.
    var isDelivering = false
  }

  private let state: Mutex<State>

  public init(_ value: Value) { state = Mutex(State(value: value)) }

  deinit { for observer in state.withLock({ $0.observers.values }) { observer.end() } }

  /// The current value.
  public var current: Value { state.withLock { $0.value } }

  /// Changes the value and delivers it.
  public func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
    defer { deliver() }
    return state.withLock { state in
      state.version += 1
      return change(&state.value)
    }
  }

  /// Changes the value and delivers it if a condition holds, and returns whether it does.
  public func change(if condition: (Value) -> Bool, _ change: (inout Value) -> Void) -> Bool {
    let isChanged = state.withLock { state in
      guard condition(state.value) else { return false }
      state.version += 1
      change(&state.value)
      return true
    }
    if isChanged { deliver() }
    return isChanged
  }

  /// Delivers the current value to the observers that do not have it yet. If another thread is delivering, that thread
  /// delivers this value, too.
  private func deliver() {
    var isFirst = true
    while true {
      let next: (Value, [Observer])? = state.withLock { state in
        if isFirst, state.isDelivering { return nil }
        let behind = state.observers.filter { $0.value.version < state.version }
        for id in behind.keys { state.observers[id]?.version = state.version }
        state.isDelivering = !behind.isEmpty
        return state.isDelivering ? (state.value, Array(behind.values)) : nil
      }
      guard let (value, observers) = next else { return }
      for observer in observers { observer.update(value) }
      isFirst = false
    }
  }

  /// Adds an observer.
  ///
  /// - Parameters:
  ///   - update: gets the current value and later ones. It may be called on any thread.
  ///   - end: called when this object is released.
  /// - Returns: the number for ``remove(_:)``.
  @discardableResult
  public func observe(
    _ update: @escaping @Sendable (Value) -> Void, end: @escaping @Sendable () -> Void = {}
  ) -> Int {
    let id = state.withLock { state in
      state.lastID += 1
      state.observers[state.lastID] = Observer(update: update, end: end)
      return state.lastID
    }
    deliver()
    return id
  }

  /// Removes an observer. A delivery that has begun may still call it.
  package func remove(_ id: Int) { state.withLock { _ = $0.observers.removeValue(forKey: id) } }
}

extension LatestValue {
  /// The values, beginning with the current one, until this object is released. A slow reader gets only the latest one.
  @_spi(Toolkit) public var values: AsyncStream<Value> { values(of: \.self) }

  /// A part of the value after each change, like ``values``.
  @_spi(Toolkit) public func values<Part: Sendable>(of part: @escaping @Sendable (Value) -> Part) -> AsyncStream<Part> {
    stream { $1.yield(part($0)) }
  }

  /// The changes of a part of the value, beginning with the current one: like ``values``, without repetitions.
  @_spi(Toolkit) public func changes<Part: Equatable & Sendable>(of part: @escaping @Sendable (Value) -> Part)
    -> AsyncStream<Part>
  {
    let last = Mutex<Part?>(nil)
    return stream { value, continuation in
      let part = part(value)
      let isNew = last.withLock { last in
        defer { last = part }
        return last != part
      }
      if isNew { continuation.yield(part) }
    }
  }

  private func stream<Element: Sendable>(
    _ yield: @escaping @Sendable (Value, AsyncStream<Element>.Continuation) -> Void
  ) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
    let id = observe {
      yield($0, continuation)
    } end: {
      continuation.finish()
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    return stream
  }
}

@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Limits how many requests an origin gets at the same time, so that a slow origin does not use up shared resources.
///
/// ```swift
/// configuration.limits.concurrency = ConcurrencyLimit(50, queue: 200, waitLimit: .seconds(2))
/// ```
///
/// Further requests wait, and are sent in the order of their arrival. A request counts from when it is sent until its
/// response's body is read to the end or discarded. If it waits too long or the queue is full, it fails with
/// ``HTTPError/Kind/concurrencyLimit``; nothing was sent. A request whose task is cancelled or whose deadline passes
/// leaves the queue. A connection that is no longer used for HTTP (a WebSocket) does not count. A request made on
/// behalf of another one, for example to obtain its token, does not wait, because the other one may hold the slot.
public struct ConcurrencyLimit: Sendable, Hashable {
  /// The maximum number of requests to one origin; at least 1.
  public var requests: Int
  /// The maximum number of requests to one origin that wait; 100 by default.
  public var queue: Int
  /// The maximum time a request waits; nil for no limit. 10 seconds by default.
  public var waitLimit: Duration?

  /// Makes a limit.
  public init(_ requests: Int, queue: Int = 100, waitLimit: Duration? = .seconds(10)) {
    self.requests = requests
    self.queue = queue
    self.waitLimit = waitLimit
  }
}

/// Lets as many requests pass as the limit allows.
struct ConcurrencyTransport: TransportLayer {
  let base: any Transport
  let slots: OriginSlots

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let origin = request.origin else { return try await base.send(request, in: call) }
    let slot = try await slots.take(for: origin, in: call)
    do {
      var response = try await base.send(request, in: call)
      if response.body.length == 0 || response.isUpgraded {
        slot.release()
      } else {
        let body = response.body
        response.body = ResponseBody(length: body.length, from: SlotBody(base: body.source, slot: slot))
      }
      return response
    } catch {
      slot.release()
      throw error
    }
  }
}

/// The requests in progress to each origin, and the waiting requests.
final class OriginSlots: Sendable {
  private struct State {
    var entries: [Origin: Entry] = [:]
    /// The waiting requests, in a lane for each origin.
    var waiters = PriorityQueue<Origin, OneShot<Void>>()

    /// Returns the waiting request that gets a slot of an origin; nil if none waits.
    mutating func removeNext(_ origin: Origin) -> OneShot<Void>? {
      guard let next = waiters.removeNext(in: origin)?.element else { return nil }
      entries[origin]?.waiting -= 1
      return next
    }

    /// Removes a request that waits no longer. It may have got a slot already.
    mutating func remove(_ number: UInt64, _ origin: Origin) {
      if waiters.remove(number) != nil { entries[origin]?.waiting -= 1 }
    }
  }

  /// The numbers of requests to an origin.
  private struct Entry {
    var active = 0
    var waiting = 0
  }

  private enum Request {
    case granted
    case queued(UInt64, ahead: Int)
    case refused
  }

  private let limit: ConcurrencyLimit
  private let clock: any Clock<Duration>
  private let state = Mutex(State())
  /// All requests have the same priority.
  private static let priority = PriorityBox(0)

  init(_ limit: ConcurrencyLimit, _ clock: any Clock<Duration>) {
    self.limit = limit
    self.clock = clock
  }

  /// One of the requests in progress, until it is released.
  final class Slot: Sendable {
    private let slots: OriginSlots
    private let origin: Origin
    private let isReleased = Atomic(false)

    fileprivate init(_ slots: OriginSlots, _ origin: Origin) {
      self.slots = slots
      self.origin = origin
    }

    func release() {
      if !isReleased.exchange(true, ordering: .relaxed) { slots.release(origin) }
    }

    deinit { release() }
  }

  /// Waits for a slot.
  ///
  /// - Throws: `.concurrencyLimit` if there is none in time, or the queue is full.
  func take(for origin: Origin, in call: Call) async throws -> Slot {
    let waiter = OneShot<Void>()
    switch request(origin, waiter, mayWait: call.parent.calls.isEmpty) {
    case .granted: break
    case .refused: throw error(for: origin, "the queue, which holds \(max(0, limit.queue)), is full")
    case .queued(let number, let ahead):
      call.emit(.limit(.queued(origin, ahead: ahead)))
      try await wait(waiter, number, for: origin, in: call)
    }
    return Slot(self, origin)
  }

  private func request(_ origin: Origin, _ waiter: OneShot<Void>, mayWait: Bool) -> Request {
    state.withLock { state in
      let entry = state.entries[origin] ?? Entry()
      if entry.active < max(1, limit.requests) || !mayWait {
        state.entries[origin, default: Entry()].active += 1
        return .granted
      }
      guard entry.waiting < limit.queue else { return .refused }
      state.entries[origin]?.waiting += 1
      return .queued(state.waiters.append(waiter, Self.priority, in: origin), ahead: entry.waiting)
    }
  }

  private func wait(_ waiter: OneShot<Void>, _ number: UInt64, for origin: Origin, in call: Call) async throws {
    let alarm = limit.waitLimit.map { time in
      Alarm(after: time, on: clock) { [weak self] in
        guard let self else { return }
        waiter.answer(.failure(error(for: origin, "this one's turn did not come within \(Quantity.text(time))")))
      }
    }
    defer { alarm?.cancel() }
    do {
      try await call.wait(for: waiter)
    } catch {
      state.withLock { $0.remove(number, origin) }
      throw HTTPError(beforeSending: error)
    }
  }

  private func release(_ origin: Origin) {
    // A waiter that has given up in the meantime does not take the slot.
    while let next = passOn(origin), !next.answer(.success(())) {}
  }

  /// Returns the waiter that gets the slot; nil if none waits.
  private func passOn(_ origin: Origin) -> OneShot<Void>? {
    state.withLock { state in
      guard let entry = state.entries[origin] else { return nil }
      if entry.active <= max(1, limit.requests), let next = state.removeNext(origin) { return next }
      state.entries[origin]?.active -= 1
      if entry.active == 1, entry.waiting == 0 { state.entries[origin] = nil }
      return nil
    }
  }

  private func error(for origin: Origin, _ reason: String) -> HTTPError {
    let requests = limit.requests > 1 ? "\(limit.requests) requests" : "one request"
    return HTTPError(
      .concurrencyLimit,
      "\(origin): at most \(requests) at a time may be sent, and \(reason): send fewer, or raise limits.concurrency",
      phase: .queued)
  }
}

/// A body whose end releases a slot.
private struct SlotBody: BodyLayer {
  let base: any BodySource
  let slot: OriginSlots.Slot

  func next() async throws -> Data? {
    do {
      let chunk = try await base.next()
      if chunk == nil { slot.release() }
      return chunk
    } catch {
      slot.release()
      throw error
    }
  }

  func takeReceived() throws(HTTPError) -> Data? {
    do throws(HTTPError) {
      let data = try base.takeReceived()
      if data != nil { slot.release() }
      return data
    } catch {
      slot.release()
      throw error
    }
  }

  func cancel() {
    base.cancel()
    slot.release()
  }
}

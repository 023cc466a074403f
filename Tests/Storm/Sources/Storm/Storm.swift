import Foundation
import Synchronization

/// Cancels operations at random moments, and checks that each completes once, in time, and with its own answer.
///
/// The moments: at the start by a second thread, 0 to 300 µs or 0 to 6 ms after it, at each event of the call on the
/// thread that reports it, or never. An operation that is not cancelled must succeed.
package struct Storm: Sendable {
  /// The seconds after which an operation hangs.
  package static let patience = 60.0

  /// When an operation is cancelled.
  private enum Moment {
    case never
    /// After a number of microseconds from the start, by another thread.
    case beside(Int)
    /// After a number of microseconds, by the thread that started it.
    case after(Int)
    /// At the event with this number.
    case event(Int)

    static func random(with generator: inout SystemRandomNumberGenerator) -> Moment {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: .never
      case 1...3: .beside(.random(in: 0...300, using: &generator))
      case 4...6: .after(.random(in: 0...300, using: &generator))
      case 7: .after(.random(in: 0...6_000, using: &generator))
      default: .event(.random(in: 0...12, using: &generator))
      }
    }
  }

  private let service: StormService
  private let threads: Int

  package init(_ service: StormService, threads: Int = 4) { (self.service, self.threads) = (service, threads) }

  /// Runs operations of an entry point on several threads. Returns what went wrong, at most ten problems.
  ///
  /// - Parameters:
  ///   - count: the number of operations.
  package func run(_ entry: EntryPoint, count: Int) async -> (done: Int, problems: [String]) {
    let tally = Tally()
    let workers = DispatchGroup()
    for _ in 0..<threads {
      workers.enter()
      // A thread of its own, because it waits for operations, which need the threads of the runtime.
      let thread = Thread {
        let partner = Partner()
        while tally.begin(of: count) {
          if let problem = operate(entry, partner) { tally.note("\(entry.name): \(problem)") }
        }
        partner.stop()
        workers.leave()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        watch(workers, entry, tally)
        continuation.resume()
      }
    }
    return tally.result
  }

  /// Waits for the workers, or until none of them has begun an operation for longer than an operation may take: a call
  /// that never returns has stopped them.
  private func watch(_ workers: DispatchGroup, _ entry: EntryPoint, _ tally: Tally) {
    var (begun, time) = (0, Date())
    while workers.wait(timeout: .now() + 1) == .timedOut {
      if tally.result.done > begun { (begun, time) = (tally.result.done, Date()) }
      guard Date().timeIntervalSince(time) < 1.5 * Self.patience else {
        return tally.note("\(entry.name): stands still after \(begun) operations: a call does not return")
      }
    }
  }

  /// Runs one operation, and returns what went wrong.
  private func operate(_ entry: EntryPoint, _ partner: Partner) -> String? {
    var generator = SystemRandomNumberGenerator()
    let moment = Moment.random(with: &generator)
    var events = Int.max
    if case .event(let number) = moment { events = number }
    let ticket = Ticket(number: service.nextNumber(), eventsLeft: events)
    let operation: Operation
    do { operation = try entry.make(service, ticket) } catch { return "not made: \(error)" }
    ticket.setCancel(operation.cancel)
    defer { ticket.release() }
    if case .beside(let delay) = moment { partner.run { Self.cancel(operation, after: delay) } }
    operation.start()
    if case .after(let delay) = moment { Self.cancel(operation, after: delay) }
    if case .beside = moment, !partner.wait(seconds: Self.patience) { return "cancel() hangs, \(moment)" }
    return problem(of: operation, ticket, moment)
  }

  private func problem(of operation: Operation, _ ticket: Ticket, _ moment: Moment) -> String? {
    var isCancelled = true
    switch moment {
    case .never: isCancelled = false
    // The event may never come, so whether it was cancelled is not known.
    case .event where !operation.completesWhenCancelled: return nil
    default: break
    }
    if operation.completesWhenCancelled || !isCancelled {
      guard ticket.waitUntilCompleted(seconds: Self.patience) else { return "hangs, \(moment)" }
    }
    let outcomes = ticket.outcomes
    guard outcomes.count < 2 else { return "completed \(outcomes.count) times, \(moment)" }
    switch outcomes.first {
    case .answer(let text?)? where !text.contains(ticket.mark):
      return "foreign answer for \(ticket.mark) \(text.prefix(80))"
    case .failure(let error)? where !isCancelled: return "failed though not cancelled: \(error)"
    default: return nil
    }
  }

  private static func cancel(_ operation: Operation, after microseconds: Int) {
    let end = ContinuousClock.now + .microseconds(microseconds)
    while ContinuousClock.now < end {}
    operation.cancel()
  }
}

/// What the threads of a run have done.
private final class Tally: Sendable {
  private let state = Mutex<(done: Int, problems: [String])>((0, []))

  var result: (done: Int, problems: [String]) { state.withLock { $0 } }

  /// Whether to run another operation, which then counts.
  func begin(of count: Int) -> Bool {
    state.withLock { state in
      guard state.done < count, state.problems.count < 10 else { return false }
      state.done += 1
      return true
    }
  }

  func note(_ problem: String) { state.withLock { $0.problems.append(problem) } }
}

/// A second thread, which cancels what its owner starts at the same time.
private final class Partner: Sendable {
  private let work = Mutex<(@Sendable () -> Void)?>(nil)
  private let begins = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  init() {
    let thread = Thread { self.serve() }
    thread.stackSize = 1 << 20
    thread.start()
  }

  private func serve() {
    while true {
      begins.wait()
      guard let job = work.withLock({ $0.take() }) else { return }
      job()
      ended.signal()
    }
  }

  func run(_ job: @escaping @Sendable () -> Void) {
    work.withLock { $0 = job }
    begins.signal()
  }

  func wait(seconds: Double) -> Bool { ended.wait(timeout: .now() + seconds) == .success }

  func stop() { begins.signal() }
}

#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// The loop that watches sockets: jobs, wake-ups, and events of closed sockets.
@Suite(.timeLimit(.minutes(5)))
struct EventLoopTests {
  /// The state that belongs to the loop's thread in these tests.
  private final class Context {
    let loop: EventLoop
    var handlers: [Handler] = []
    var sockets: [Socket] = []
    var ticker: HeapTimer?

    init(_ queue: JobQueue<Context>) throws { loop = try EventLoop(wakeUp: queue.wakeUp) }

    /// Has a timer that is due in every turn from now on.
    func tick() {
      let ticker = HeapTimer { [unowned self] in tick() }
      self.ticker = ticker
      loop.set(ticker, to: loop.now + 1)
    }
  }

  /// Counts its notifications.
  private final class Handler: SocketHandler {
    var readable: (Socket) -> Void = { _ in }
    private(set) var count = 0

    func socketIsReadable(_ socket: Socket) {
      count += 1
      readable(socket)
    }
    func socketIsWritable(_ socket: Socket) { count += 1 }
    func socketFailed(_ socket: Socket, _ code: Int32) { count += 1 }
  }

  /// Runs a loop on a thread until a job stops it.
  ///
  /// - Returns: a gate that opens when the loop has stopped.
  private func start(
    _ queue: JobQueue<Context>, lending ownership: LoopOwnership<Context>? = nil,
    finishTurn: @escaping @Sendable (Context) -> Void = { _ in }
  ) async throws -> Gate {
    let (hasStarted, isOver) = (Gate(), Gate())
    let failure = Mutex<(any Error)?>(nil)
    Thread.detachNewThread {
      do {
        let context = try Context(queue)
        hasStarted.open()
        context.loop.run(queue, in: context, lending: { _ in ownership }, finishTurn: finishTurn)
      } catch {
        failure.withLock { $0 = error }
        hasStarted.open()
      }
      isOver.open()
    }
    try await hasStarted.wait()
    if let error = failure.withLock({ $0 }) { throw error }
    return isOver
  }

  @Test func aClockThatIsSetBackTakesNoTimeBack() {
    var time = SteadyTime()
    #expect([5, 9, 3, 4, 4, 1, 11].map { time.advance(to: $0) } == [5, 9, 9, 10, 10, 10, 20])
  }

  /// Two concurrent threads would mistake each other's reading of the clock for one that was set back.
  @Test func theTimeIsThatOfTheClockWhileOtherThreadsBorrowTheLoop() async throws {
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let ownership = LoopOwnership<Context>()
    let isOver = try await start(queue, lending: ownership)
    queue.submit { $0.tick() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var count = 0
          while count < 100_000 { count += ownership.borrow { context, _ in context.loop.beginTurn() } == nil ? 0 : 1 }
        }
      }
    }
    let ahead = Log<Int64>()
    queue.submit { context in
      context.loop.beginTurn()
      ahead.append(Int64(context.loop.now) - Int64(EventLoop.clock()))
      context.loop.stop()
    }
    try await isOver.wait()
    #expect(try #require(ahead.entries.first) <= 0)
  }

  @Test func jobsOfManyThreadsAreDoneInTheirOrder() async throws {
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let isOver = try await start(queue)
    let log = Log<(Int, Int)>()
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<8 {
        group.addTask {
          for number in 0..<500 { queue.submit { _ in log.append((sender, number)) } }
        }
      }
    }
    queue.submit { $0.loop.stop() }
    try await isOver.wait()
    for sender in 0..<8 { #expect(log.entries.filter { $0.0 == sender }.map(\.1) == Array(0..<500)) }
  }

  /// The loop sleeps between the jobs, because each is submitted after the one before it was done.
  @Test func aJobWakesASleepingLoop() async throws {
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let isOver = try await start(queue)
    for _ in 0..<500 {
      let isDone = Gate()
      queue.submit { _ in isDone.open() }
      try await isDone.wait()
    }
    queue.submit { $0.loop.stop() }
    try await isOver.wait()
  }

  @Test func aTimerEndsAWait() async throws {
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let isOver = try await start(queue)
    let times = Log<(due: UInt64, now: UInt64)>()
    queue.submit { context in
      let loop = context.loop
      let due = loop.now + 20_000_000
      let timer = HeapTimer { [unowned loop] in
        times.append((due, loop.now))
        loop.stop()
      }
      loop.set(timer, to: due)
    }
    try await isOver.wait()
    let (due, now) = try #require(times.entries.first)
    #expect(now >= due)
  }

  @Test func aLoopThatCannotWatchItsWakeUpIsAnError() {
    #expect(throws: HTTPError.self) { _ = try EventLoop(wakeUp: -1) }
  }

  /// A socket that cannot be watched is detected after the end of a turn. The consequences do not wait until something
  /// else happens.
  @Test func aTurnFollowsAtOnceWhenASocketCannotBeWatched() async throws {
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let isOver = try await start(queue) { context in
      guard context.handlers.first?.count == 1 else { return }
      for socket in context.sockets { socket.close() }
      context.loop.stop()
    }
    queue.submit { context in
      let handler = Handler()
      let file = Socket(owning: open("/dev/null", O_RDONLY), on: context.loop)  // epoll does not take it
      file.handler = handler
      context.handlers = [handler]
      context.sockets = [file]
      file.interest = .read
    }
    try await isOver.wait()
  }

  /// Runs a loop with two readable sockets until the turn after the one in which the first of them is reported, so that
  /// a wrong event would have arrived. Returns how often each handler was called, in order of the numbers.
  ///
  /// - Parameter first: what the handler of the first does, with its socket and the other one.
  private func countEvents(
    _ first: @escaping @Sendable (Context, Socket, _ other: Socket) -> Void
  ) async throws -> [Int] {
    let pairs = try [makePair(), makePair()]
    for pair in pairs { try #require(send(pair[1], [1], 1, 0) == 1) }
    defer { for pair in pairs { close(pair[1]) } }
    let queue = JobQueue<Context>(wakeUp: EventLoop.makeWakeUp())
    let isOver = try await start(queue)
    let counts = Mutex<[Int]>([])
    queue.submit { context in
      context.sockets = pairs.map { Socket(owning: $0[0], on: context.loop) }
      for (socket, other) in zip(context.sockets, context.sockets.reversed()) {
        let handler = Handler()
        handler.readable = { [unowned context] socket in
          first(context, socket, other)
          queue.submit { context in
            counts.withLock { $0 = context.handlers.map(\.count) }
            for socket in context.sockets { socket.close() }
            context.loop.stop()
          }
        }
        socket.handler = handler
        socket.interest = .read
        context.handlers.append(handler)
      }
    }
    try await isOver.wait()
    return counts.withLock { $0.sorted() }
  }

  /// The first of two readable sockets closes the other one, whose place and descriptor a new one gets at once.
  @Test func anEventOfAClosedSocketReachesNoOther() async throws {
    let counts = try await countEvents { context, socket, other in
      socket.interest = []
      other.close()
      let (new, next) = (Handler(), Socket(family: AF_INET, on: context.loop))
      next?.handler = new
      #expect(next?.slot == other.slot)
      context.handlers.append(new)
      context.sockets = [socket, next].compactMap { $0 }
    }
    #expect(counts == [0, 0, 1])
  }

  /// The first of two readable sockets wants to read from neither any more. A thread that borrows the loop does that,
  /// too, when it receives the end of a connection while the loop's thread wakes for the same event.
  @Test func anEventThatIsNotWantedAnyMoreReachesNobody() async throws {
    let counts = try await countEvents { _, socket, other in (socket.interest, other.interest) = ([], []) }
    #expect(counts == [0, 1])
  }

  @Test(
    arguments: [
      (60_000_000_000, 60_000), (UInt64(Int32.max) * 1_000_000, .max), ((UInt64(Int32.max) + 1) * 1_000_000, .max),
      (Duration.seconds(Int64.max).nanoseconds, .max), (.max, .max),
    ] as [(UInt64, Int32)])
  func theSystemTakesEveryLimitOnAcknowledgements(_ time: UInt64, _ milliseconds: Int32) throws {
    let wakeUp = EventLoop.makeWakeUp()
    defer { close(wakeUp) }
    let loop = try EventLoop(wakeUp: wakeUp)
    let socket = try #require(Socket(family: AF_INET, on: loop))
    defer { socket.close() }

    socket.limitAcknowledgement(to: time)

    var limit: Int32 = 0, size = socklen_t(MemoryLayout<Int32>.size)
    let result = getsockopt(socket.descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, &size)
    #expect((result, limit) == (0, milliseconds))
  }
}

/// Returns two connected sockets that do not block.
private func makePair() throws -> [Int32] {
  var pair: [Int32] = [-1, -1]
  try #require(socketpair(AF_UNIX, 1 | 0o4000 /* SOCK_STREAM | SOCK_NONBLOCK */, 0, &pair) == 0)
  return pair
}
#endif

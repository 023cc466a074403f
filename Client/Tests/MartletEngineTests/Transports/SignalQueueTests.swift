@_spi(Transports) import MartletEngine
import MartletTesting
import Testing

@Suite("Signals between a sender and a reader", .timeLimit(.minutes(5)))
struct SignalQueueTests {
  private enum Signal: QueuedSignal, Equatable {
    case sent(Int)
    case chunk(Int)

    var byteCount: Int { if case .chunk(let count) = self { count } else { 0 } }

    func replaces(_ earlier: Signal) -> Bool {
      if case .sent = self, case .sent = earlier { true } else { false }
    }
  }

  private struct Stopped: Error {}

  @Test func signalsComeInTheirOrder() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)

    queue.push([.chunk(1), .sent(1), .chunk(2)])

    #expect(try await queue.next().signal == .chunk(1))
    #expect(try await queue.next().signal == .sent(1))
    #expect(try await queue.next().signal == .chunk(2))
  }

  @Test func theOrderIsKeptWhileTheQueueIsNeverEmpty() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)
    queue.push(.chunk(0))
    for number in 1..<1000 {
      queue.push(.chunk(number))
      #expect(try await queue.next().signal == .chunk(number - 1))
    }
    #expect(try await queue.next().signal == .chunk(999))
  }

  @Test func oneSignalComesAfterThoseBeforeIt() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)

    queue.push(.chunk(1))
    queue.push(.chunk(2))

    #expect(try await queue.next().signal == .chunk(1))
    #expect(try await queue.next().signal == .chunk(2))
  }

  @Test func oneSignalIsGivenToAWaitingReaderAndResumesThePausedSender() async throws {
    let isWaiting = Gate()
    let queue = SignalQueue<Signal>(
      highWater: 100,
      clock: {
        isWaiting.open()
        return 1
      })
    async let pulled = queue.next()
    try await isWaiting.wait()
    #expect(queue.pauseIfFull(adding: 100))

    queue.push(.chunk(1))

    let (signal, resumesSender) = try await pulled
    #expect(signal == .chunk(1))
    #expect(resumesSender)
    #expect(!queue.isPaused)
    #expect(queue.waitingSince == nil)
  }

  /// A state of a queue, before a signal is added.
  enum Before: CaseIterable, Sendable {
    case empty, unreadBytes, unreadProgress, full, emptyAndPaused, stopped, awaited, awaitedAndPaused
  }

  /// Brings a queue into a state, calls the closure with it, and returns what the reader and the sender see afterwards.
  private func views(of before: Before, _ add: (SignalQueue<Signal>) -> Void) async throws -> [String] {
    let isWaiting = Gate()
    let queue = SignalQueue<Signal>(
      highWater: 100,
      clock: {
        isWaiting.open()
        return 1
      })
    switch before {
    case .empty, .emptyAndPaused, .awaited, .awaitedAndPaused: break
    case .unreadBytes: queue.push([.chunk(30)])
    case .unreadProgress: queue.push([.sent(1)])
    case .full: queue.push([.chunk(60), .chunk(40)])
    case .stopped: queue.stop(Stopped())
    }
    var reader: Task<SignalQueue<Signal>.Pulled, any Error>?
    if before == .awaited || before == .awaitedAndPaused {
      reader = Task { try await queue.next() }
      try await isWaiting.wait()
    }
    if [.full, .emptyAndPaused, .awaitedAndPaused].contains(before) { #expect(queue.pauseIfFull(adding: 100)) }

    add(queue)

    var views = ["paused: \(queue.isPaused), waiting: \(queue.waitingSince != nil)"]
    if let reader {
      let pulled = try await reader.value
      views.append("\(pulled)")
    }
    do {
      while let pulled = try queue.nextIfReady() { views.append("\(pulled)") }
    } catch { views.append("\(error)") }
    views.append("paused: \(queue.isPaused), free: \((0...100).first { queue.pauseIfFull(adding: $0) } ?? -1)")
    return views
  }

  @Test(arguments: Before.allCases)
  func aSignalAloneHasTheSameEffectAsInAnArray(_ before: Before) async throws {
    for signal in [Signal.sent(2), .chunk(0), .chunk(1), .chunk(26), .chunk(200)] {
      let alone = try await views(of: before) { $0.push(signal) }
      let inArray = try await views(of: before) { $0.push([signal]) }
      #expect(alone == inArray, "\(signal)")
    }
  }

  @Test func unreadProgressIsReplacedByALaterOne() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)

    queue.push([.sent(1), .sent(2)])
    queue.push([.sent(3), .chunk(1), .sent(4)])

    #expect(try await queue.next().signal == .sent(3))
    #expect(try await queue.next().signal == .chunk(1))
    #expect(try await queue.next().signal == .sent(4))
  }

  @Test func senderIsPausedAtTheLimitAndResumedAtAQuarterOfIt() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)
    queue.push([.chunk(50), .chunk(25), .chunk(25)])

    #expect(queue.pauseIfFull(adding: 0))
    #expect(queue.isPaused)

    #expect(try await queue.next().resumesSender == false)
    #expect(try await queue.next().resumesSender)
    #expect(!queue.isPaused)
    #expect(try await queue.next().resumesSender == false)
  }

  @Test func undeliveredBytesCountAgainstTheLimit() {
    let queue = SignalQueue<Signal>(highWater: 100)
    queue.push([.chunk(50)])

    #expect(!queue.pauseIfFull(adding: 49))
    #expect(queue.pauseIfFull(adding: 50))
  }

  @Test func queueBecomesFullOnceUntilTheSenderIsResumed() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)
    queue.push([.chunk(100)])
    #expect(queue.pauseOnceIfFull())

    queue.push([.chunk(100)])
    #expect(!queue.pauseOnceIfFull())

    while try await !queue.next().resumesSender {}
    queue.push([.chunk(100)])
    #expect(queue.pauseOnceIfFull())
  }

  @Test func waitingReaderGetsTheNextSignalAndItsWaitIsMeasured() async throws {
    let (clock, ticks) = AsyncStream.makeStream(of: Void.self)
    let queue = SignalQueue<Signal>(highWater: 100) {
      ticks.yield()
      return 7
    }
    #expect(queue.waitingSince == nil)
    let reader = Task { try await queue.next().signal }
    _ = await clock.first { true }
    #expect(queue.waitingSince == 7)

    queue.push([.chunk(1)])

    #expect(try await reader.value == .chunk(1))
    #expect(queue.waitingSince == nil)
  }

  @Test func stopDropsSignalsAndEndsEveryRead() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)
    queue.push([.chunk(100)])

    queue.stop(Stopped())
    queue.stop(CancellationError())
    queue.push([.chunk(1)])

    for _ in 0..<2 { await #expect(throws: Stopped.self) { try await queue.next() } }
    #expect(!queue.pauseIfFull(adding: 1000))
  }

  @Test func stopEndsAWaitingRead() async throws {
    let (clock, ticks) = AsyncStream.makeStream(of: Void.self)
    let queue = SignalQueue<Signal>(highWater: 100) {
      ticks.yield()
      return 0
    }
    let reader = Task { try await queue.next() }
    _ = await clock.first { true }

    queue.stop(Stopped())

    await #expect(throws: Stopped.self) { try await reader.value }
  }

  @Test func aSenderAndAReaderOfDifferentThreadsExchangeEverySignal() async throws {
    let queue = SignalQueue<Signal>(highWater: 100)
    let sender = Task.detached {
      for number in 0..<5000 {
        if number.isMultiple(of: 3) { queue.push([.chunk(number)]) } else { queue.push(.chunk(number)) }
        if number.isMultiple(of: 7) { await Task.yield() }
      }
    }

    for number in 0..<5000 { #expect(try await queue.next().signal == .chunk(number)) }

    await sender.value
  }

  @Test func aStopDuringAReadEndsItOnce() async {
    for _ in 0..<500 {
      let queue = SignalQueue<Signal>(highWater: 100)
      let reader = Task.detached { try await queue.next() }
      let sender = Task.detached { queue.push(.sent(1)) }
      queue.stop(Stopped())

      // the signal was read before the stop, or never
      switch await reader.result {
      case .success(let pulled): #expect(pulled.signal == .sent(1))
      case .failure(let error): #expect(error is Stopped)
      }
      await sender.value
      await #expect(throws: Stopped.self) { try await queue.next() }
    }
  }
}

import CallDoubles
@_spi(Transports) import MartletEngine
@testable import MartletSignIn
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("The order of writes", .timeLimit(.minutes(5)))
struct WriteLinesTests {
  private let lines = WriteLines()
  private let begun = Awaitable<[String]>([])

  /// Returns the place of a write that runs beside others.
  private func place() async throws -> WriteLines.Place { try await lines.enter(origin, from: nil, in: Call()) }

  /// Starts a task that waits until its write is alone, and then ends it at once. Returns when it waits.
  private func aloneTask(_ name: String, from place: WriteLines.Place) async throws -> Task<Void, any Error> {
    let arrived = Gate()
    let executor = WatchedExecutor()
    let task = Task(executorPreference: executor) {
      arrived.open()
      let alone = try await lines.isolate(place, in: Call())
      begun.update { $0.append(name) }
      lines.leave(alone, .maybeAccepted)
    }
    try await arrived.wait()
    try await executor.idle()
    return task
  }

  /// Starts a task that waits until its write may begin. Returns when it has begun, or waits.
  private func enteringTask(
    _ name: String, at text: String = "http://a.example/"
  ) async throws -> Task<Void, any Error> {
    let arrived = Gate()
    let executor = WatchedExecutor()
    let task = Task(executorPreference: executor) {
      arrived.open()
      _ = try await lines.enter(url(text), from: nil, in: Call())
      begun.update { $0.append(name) }
    }
    try await arrived.wait()
    try await executor.idle()
    return task
  }

  @Test func writesRunAtTheSameTime() async throws {
    var tasks: [Task<Void, any Error>] = []
    for name in ["a", "b", "c"] { tasks.append(try await enteringTask(name)) }
    #expect(begun.value == ["a", "b", "c"])
    for task in tasks { task.cancel() }
  }

  @Test func aNewWriteWaitsForOneThatIsAlone() async throws {
    let alone = try await lines.isolate(place(), in: Call())
    let task = try await enteringTask("later")
    #expect(begun.value.isEmpty)

    lines.leave(alone, .refused)

    try await task.value
    #expect(begun.value == ["later"])
  }

  @Test func writesRunAloneInTheirOrderOfArrival() async throws {
    let first = try await place()
    let names = (0..<5).map { "\($0)" }
    var places: [WriteLines.Place] = []
    for _ in names { places.append(try await place()) }
    var tasks: [Task<Void, any Error>] = []
    for (name, place) in zip(names, places) { tasks.append(try await aloneTask(name, from: place)) }
    #expect(begun.value.isEmpty)

    lines.leave(first, .refused)

    for task in tasks { try await task.value }
    #expect(begun.value == names)
  }

  @Test func aCancelledWriteLeavesTheLine() async throws {
    let (first, second) = (try await place(), try await place())
    let call = Call()
    let place = try await lines.enter(origin, from: nil, in: call)
    let (arrived, executor) = (Gate(), WatchedExecutor())
    let cancelled = Task(executorPreference: executor) {
      arrived.open()
      _ = try await lines.isolate(place, in: call)
    }
    try await arrived.wait()
    try await executor.idle()
    let next = try await aloneTask("next", from: second)

    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    call.end(nil)
    #expect(begun.value.isEmpty)
    lines.leave(first, .refused)

    try await next.value
    #expect(begun.value == ["next"])
  }

  @Test func theEndOfACallEndsItsWrite() async throws {
    let (call, second) = (Call(), try await place())
    _ = try await lines.enter(origin, from: nil, in: call)
    let next = try await aloneTask("next", from: second)
    #expect(begun.value.isEmpty)
    call.end(nil)
    try await next.value
  }

  @Test func aWriteThatAnotherOneMakesDoesNotWaitForIt() async throws {
    let notes = Awaitable<[String]>([])
    let listener = EventHandler(.note) { event, _ in
      if case .note(let text) = event, text.hasPrefix("sent") { notes.update { $0.append(text) } }
    }
    let call = Call()
    let place = try await lines.enter(origin, from: nil, in: call)
    _ = try await lines.isolate(place, in: call)
    try await call.context.perform { _ = try await lines.enter(origin, from: nil, in: Call(listeners: [listener])) }
    #expect(
      notes.value == ["sent beside other writes: one of them has not ended in time, or waits for this one"])
  }

  /// The last write to leave waits for one that has not been resumed yet since it waited for the last one.
  @Test func writesThatWaitForEachOtherInTurnAreNotTakenForACycle() async throws {
    let notes = Awaitable<[String]>([])
    let listener = EventHandler(.note) { event, _ in
      if case .note(let text) = event, text.hasPrefix("sent") { notes.update { $0.append(text) } }
    }
    for _ in 0..<200 {
      var writes: [(Call, WriteLines.Place)] = []
      for _ in 0..<4 {
        let call = Call(listeners: [listener])
        writes.append((call, try await lines.enter(origin, from: nil, in: call)))
      }
      let tasks = writes.map { call, place in
        Task { lines.leave(try await lines.isolate(place, in: call), .maybeAccepted) }
      }
      for task in tasks { try await task.value }
    }
    #expect(notes.value.isEmpty)
  }

  @Test func writesToOtherRootsDoNotWait() async throws {
    let call = Call()
    let place = try await lines.enter(origin, from: nil, in: call)
    _ = try await lines.isolate(place, in: call)
    let same = try await enteringTask("same")
    let other = try await enteringTask("other", at: "http://b.example/")
    #expect(begun.value == ["other"])
    for task in [same, other] { task.cancel() }
  }

  @Test func newWritesRunAtTheSameTimeAgainOnceTheLineIsEmpty() async throws {
    let call = Call()
    let alone = try await lines.isolate(lines.enter(origin, from: nil, in: call), in: call)
    lines.recordThatTokensEnd(at: alone)
    lines.leave(alone, .maybeAccepted)
    #expect(try await !lines.enter(origin, from: nil, in: Call()).isAlone)
  }
}

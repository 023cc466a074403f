#if os(Linux)
import MartletSemantics
import Testing

@testable import MartletSockets

/// Which look-ups run, who waits for them, and how long results are kept.
struct LookUpTableTests {
  private typealias Table = LookUpTable<Int>

  private let second: UInt64 = 1_000_000_000
  private let addresses: LookUpResult = .success([.loopback4])
  private let failure: LookUpResult = .failure(LookUpFailure(message: "unknown"))

  /// What a request is answered with, for comparison.
  private func ask(_ table: inout Table, _ host: String, id: Int = 1, now: UInt64 = 0) -> String {
    switch table.request(host, id: id, waiter: id, now: now) {
    case .known(.success(let addresses)): "\(addresses)"
    case .known(.failure(let failure)): failure.message
    case .waits(let startsWorker): startsWorker ? "start" : "wait"
    }
  }

  @Test func equalLookUpsAreShared() {
    var table = Table(workerLimit: 4)
    #expect(ask(&table, "a", id: 1) == "start")
    #expect(table.takeHost() == "a")
    #expect(ask(&table, "a", id: 2) == "wait")
    #expect(ask(&table, "b", id: 3) == "start")
    #expect(table.finish("a", with: addresses, now: 0).sorted() == [1, 2])
    #expect(table.finish("a", with: addresses, now: 0).isEmpty)
  }

  @Test func addressesAreKeptFor60SecondsAndFailuresForOne() {
    var table = Table(workerLimit: 4)
    _ = table.finish("a", with: addresses, now: 0)
    _ = table.finish("b", with: failure, now: 0)
    #expect(ask(&table, "a", now: 60 * second - 1) == "[127.0.0.1]")
    #expect(ask(&table, "b", now: second - 1) == "unknown")
    #expect(ask(&table, "b", now: second) == "start")
    #expect(ask(&table, "a", now: 60 * second) == "start")
  }

  @Test func noMoreWorkersRunThanAllowed() {
    var table = Table(workerLimit: 2)
    #expect(["a", "b", "c", "d"].map { ask(&table, $0) } == ["start", "start", "wait", "wait"])
    #expect([table.takeHost(), table.takeHost(), table.takeHost(), table.takeHost()] == ["a", "b", "c", "d"])
    #expect(table.takeHost() == nil)
    #expect(ask(&table, "e") == "start")
    #expect(ask(&table, "f") == "wait")
  }

  @Test func whatNobodyWaitsForIsNotLookedUp() {
    var table = Table(workerLimit: 1)
    _ = ask(&table, "a", id: 1)
    _ = ask(&table, "b", id: 2)
    _ = ask(&table, "b", id: 3)
    #expect(table.cancel(2, of: "b") == 2)
    #expect(table.cancel(2, of: "b") == nil)
    #expect(table.cancel(3, of: "b") == 3)
    #expect(table.takeHost() == "a")
    #expect(table.takeHost() == nil)
  }

  @Test func aCancelledCallerDoesNotEndALookUpThatRuns() {
    var table = Table(workerLimit: 1)
    _ = ask(&table, "a", id: 1)
    #expect(table.takeHost() == "a")
    #expect(table.cancel(1, of: "a") == 1)
    #expect(ask(&table, "a", id: 2) == "wait")
    #expect(table.finish("a", with: addresses, now: 0) == [2])
    #expect(table.cancel(2, of: "a") == nil)
  }

  @Test func withoutAnyWorkerTheCallersGetAFailure() {
    var table = Table(workerLimit: 2)
    _ = ask(&table, "a", id: 1)
    _ = ask(&table, "b", id: 2)
    _ = ask(&table, "c", id: 3)
    #expect(table.workerFailed().isEmpty)  // the other one looks everything up
    #expect(table.workerFailed().sorted() == [1, 2, 3])
    #expect(ask(&table, "a", id: 4) == "start")
  }

  @Test func theNumberOfKeptResultsIsLimited() {
    var table = Table(workerLimit: 1)
    for number in 0..<1000 { _ = table.finish("\(number)", with: addresses, now: UInt64(number)) }
    #expect(ask(&table, "999", now: 1000) == "[127.0.0.1]")
    #expect(ask(&table, "744", now: 1000) == "[127.0.0.1]")
    #expect(ask(&table, "743", now: 1000) == "start")
  }
}
#endif

#if os(Linux)
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// The running look-ups, their waiters, and the time for which results are kept.
struct LookUpTableTests {
  private typealias Table = LookUpTable<Int>

  private let second: UInt64 = 1_000_000_000
  private let addresses: LookUpResult = .success([.loopback4])
  private let failure: LookUpResult = .failure(LookUpFailure(message: "unknown"))

  /// The answer to a request, for comparison.
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

  /// A connection that replaces one of the shortest possible age finds no result that is as old as that one.
  @Test(arguments: [(nil, 60), (10, 9), (60, 54), (100, 60), (0, 0)] as [(UInt64?, UInt64)])
  func addressesAreKeptNoLongerThanConnections(_ lifetime: UInt64?, seconds: UInt64) {
    var table = Table(workerLimit: 4, connectionLifetime: lifetime.map { $0 * second })
    _ = table.finish("a", with: addresses, now: 0)
    if seconds > 0 { #expect(ask(&table, "a", now: seconds * second - 1) == "[127.0.0.1]") }
    #expect(ask(&table, "a", now: seconds * second) == "start")
  }

  @Test func resultsCanBeForgotten() {
    var table = Table(workerLimit: 4)
    _ = table.finish("a", with: addresses, now: 0)
    table.forget()
    #expect(ask(&table, "a", id: 1) == "start")
    #expect(table.takeHost() == "a")
    table.forget()  // a look-up in progress continues
    #expect(ask(&table, "a", id: 2) == "wait")
    #expect(table.finish("a", with: addresses, now: 0).sorted() == [1, 2])
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
    for id in [2, 2, 3] { #expect(table.cancel(id, of: "b") == false) }
    #expect(table.takeHost() == "a")
    #expect(table.takeHost() == nil)
  }

  @Test func aCancelledCallerDoesNotEndALookUpThatRuns() {
    var table = Table(workerLimit: 1)
    _ = ask(&table, "a", id: 1)
    #expect(table.takeHost() == "a")
    #expect(table.cancel(1, of: "a") == false)
    #expect(ask(&table, "a", id: 2) == "wait")
    #expect(table.finish("a", with: addresses, now: 0) == [2])
    #expect(table.cancel(2, of: "a") == false)
  }

  @Test func aLookUpThatNothingWaitsForIsReplaced() {
    var table = Table(workerLimit: 1)
    #expect(ask(&table, "slow", id: 1) == "start")
    #expect(table.takeHost() == "slow")
    #expect(ask(&table, "next", id: 2) == "wait")
    #expect(table.cancel(1, of: "slow") == true)
    #expect(table.takeHost() == "next")
    // a caller that waits for the slow name again counts again, and no more threads are started
    #expect(ask(&table, "slow", id: 3) == "wait")
    #expect(ask(&table, "third", id: 4) == "wait")
    #expect(table.finish("next", with: addresses, now: 0) == [2])
    #expect(table.takeHost() == nil)
    #expect(table.finish("slow", with: addresses, now: 0) == [3])
    #expect(table.takeHost() == "third")
  }

  @Test func aLookUpThatNothingWaitsForMakesRoomForALaterOne() {
    var table = Table(workerLimit: 1)
    for number in 0..<4 {
      #expect(ask(&table, "\(number)", id: number) == "start")
      #expect(table.takeHost() == "\(number)")
      #expect(table.cancel(number, of: "\(number)") == false)
    }
    // there is a limit to that
    #expect(ask(&table, "last", id: 9) == "wait")
    #expect(table.finish("2", with: addresses, now: 0).isEmpty)
    #expect(table.takeHost() == "last")
  }

  /// Random schedules: after all callers of some names have given up, the others are looked up as if those had never
  /// existed.
  @Test(arguments: 0..<100 as Range<UInt64>) func callersThatGiveUpLeaveNothingBehind(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = Table(workerLimit: 3)
    var (started, running, waiting) = (0, [] as Set<String>, [:] as [Int: String])
    func work() {
      while started > 0 {
        started -= 1
        if let host = table.takeHost() { running.insert(host) }
      }
    }
    for id in 0..<200 {
      let host = "\(Int.random(in: 0..<20, using: &random))"
      if ask(&table, host, id: id, now: UInt64(id) * 100 * second) == "start" { started += 1 }
      waiting[id] = host
      work()
      if Int.random(in: 0..<3, using: &random) > 0, let given = waiting.keys.sorted().randomElement(using: &random),
        let host = waiting.removeValue(forKey: given), table.cancel(given, of: host)
      {
        started += 1
      }
      work()
      if Int.random(in: 0..<4, using: &random) == 0, let host = running.sorted().randomElement(using: &random) {
        running.remove(host)
        for id in table.finish(host, with: failure, now: UInt64(id) * 100 * second) {
          #expect(waiting.removeValue(forKey: id) == host)
        }
        started += 1
        work()
      }
      #expect(running.count <= 12 && running.intersection(Set(waiting.values)).count <= 20)
    }
    for (id, host) in waiting where table.cancel(id, of: host) { started += 1 }
    work()
    // whatever is still being looked up, three others are
    if running.count <= 9 {
      #expect(["x", "y", "z"].map { ask(&table, $0, id: 1_000, now: .max / 2) } == ["start", "start", "start"])
    }
    for host in running { #expect(table.finish(host, with: failure, now: 0).isEmpty) }
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

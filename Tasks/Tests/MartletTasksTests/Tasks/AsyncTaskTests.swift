import MartletTasks
import MartletTasksTesting
import MartletTesting
import TestSupport
import Testing

/// Tasks in chains: those of a service and an app's own.
@Suite(.timeLimit(.minutes(5))) struct AsyncTaskTests {
  private struct Broken: Error {}

  private let mock = makeMock()
  private let count = Counter()

  private func shop() -> NetworkTask<Shop> { NetworkRequest().path("shop").task(session: mock) }

  /// Fails this number of times, and then returns the number of the attempt.
  private func attempts(failing failures: Int) -> AsyncWork<Int> {
    AsyncWork { [count] in
      let number = count.next()
      if number <= failures { throw Broken() }
      return number
    }
  }

  @Test func nothingHappensBeforeItRunsAndEachRunDoesItAnew() async throws {
    let chain = attempts(failing: 0).map { $0 * 10 }.flatMap { number in AsyncWork { number + 1 } }
    #expect(count.value == 0)
    #expect(try await chain.value() == 11)
    #expect(try await chain.value() == 21)
  }

  @Test func allWaysToRunGiveTheSame() async throws {
    let task = attempts(failing: 0).map { _ in "done" }
    #expect(try await task.value() == "done")
    #expect(try await withCheckedThrowingContinuation { done in task.value { done.resume(with: $0) } } == "done")
    #expect(try await first(of: task.valueProvider()).get() == "done")
    #expect(count.value == 3)
  }

  @Test func requestFollowsUponAnother() async throws {
    mock["shop"] = .response(json: #"{"title": "Shoes"}"#)
    mock["Shoes"] = .response(encoding: [1, 2])
    let items: AsyncWork<[Int]> = shop().flatMap { [mock] shop in
      NetworkRequest().path("items").pathComponent(shop.title).task(session: mock)
    }
    #expect(try await items.value() == [1, 2])
    #expect(mock.requests.map(\.url.lastPathComponent) == ["shop", "Shoes"])
  }

  /// The largest and the smallest values are legal, and stop nothing.
  @Test(arguments: Duration.extremes)
  func extremeTimeStopsNothing(_ time: Duration) async throws {
    mock["shop"] = .response(json: #"{"title": "Shoes"}"#)
    let isLong = time > .seconds(1)
    guard isLong || time <= .zero else { return }  // The end of a nanosecond may come before the value or after it.
    #expect(await (try? attempts(failing: 0).timeout(time).value()) == (isLong ? 1 : nil))
    #expect((await shop().timeout(time).execute().error == nil) == isLong)
    let request = NetworkRequest().path("shop").timeout(time)
    let response = await request.task(expecting: Shop.self, session: mock).execute()
    #expect((response.error == nil) == isLong)
    if isLong {
      let waiting = attempts(failing: 0).delay(time).value { #expect($0.isFailure, "this is too early") }
      waiting.cancel()
    } else {
      #expect(await (try? attempts(failing: 0).delay(time).value()) != nil)
    }
  }

  @Test(arguments: [(Int.max, 4), (3, 4), (0, 1), (-1, 1), (Int.min, 1)])
  func extremeNumberOfRetriesStopsNothing(_ times: Int, _ runs: Int) async throws {
    _ = try? await attempts(failing: 3).retry(times).value()
    #expect(count.value == runs)
  }

  @Test func bothHalvesRunAtTheSameTime() async throws {
    let (left, right) = (Gate(), Gate())
    let first = AsyncWork { () -> Int? in
      left.open()
      try await right.wait()
      return nil
    }
    let second = AsyncWork {
      right.open()
      try await left.wait()
      return "b"
    }
    let both = try await first.zip(second).value()
    #expect(both.0 == nil)
    #expect(both.1 == "b")
  }

  @Test func halfThatFailsCancelsTheOther() async throws {
    let (began, cancelled) = (Gate(), Gate())
    let endless = AsyncWork {
      began.open()
      do { try await Task.sleep(for: .seconds(1_000)) } catch {
        cancelled.open()
        throw error
      }
    }
    let broken = AsyncWork {
      try await began.wait()
      throw Broken()
    }
    await #expect(throws: Broken.self) { try await endless.zip(broken).value() }
    try await cancelled.wait()
  }

  @Test func mappingsErrorIsTheFailure() async {
    let task = attempts(failing: 0).map { _ -> Int in throw Broken() }
    await #expect(throws: Broken.self) { try await task.value() }
  }

  @Test func retryRunsAgainAtMostSoManyTimes() async throws {
    #expect(try await attempts(failing: 2).retry(2).value() == 3)
    await #expect(throws: Broken.self) { try await attempts(failing: 100).retry(1).value() }
    #expect(count.value == 5)
  }

  @Test func catchRunsAnotherTask() async throws {
    mock["shop"] = .response(json: shopJSON)
    let spare = AsyncWork { () -> Shop in throw Broken() }.catch { error in
      #expect(error is Broken)
      return shop()
    }
    #expect(try await spare.value().title == "Shoes")
  }

  @Test func timeoutEndsWhatTakesLonger() async {
    let slow = AsyncWork { 1 }.delay(.seconds(1_000)).timeout(.milliseconds(10))
    let error = await #expect(throws: HTTPError.self) { try await slow.value() }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func timeoutEndsWorkThatIgnoresCancellation() async {
    let released = Gate()
    let stubborn = AsyncWork { await Task { try? await released.wait() }.value }.timeout(.milliseconds(10))
    let error = await #expect(throws: HTTPError.self) { try await stubborn.value() }
    #expect(error?.message == "the task took longer than its deadline of 10 ms")
    released.open()
  }

  @Test func delayBeginsLaterAndEndsWithItsTask() async throws {
    #expect(try await attempts(failing: 0).delay(.milliseconds(1)).value() == 1)
    let waiting = Task { try await attempts(failing: 0).delay(.seconds(1_000)).value() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(count.value == 1)
  }

  @Test func cancelledChainDoesNotRunAgain() async throws {
    let asked = Gate()
    mock["shop"] = .closure { _ in
      asked.open()
      try await Task.sleep(for: .seconds(1_000))
      return .response()
    }
    let running = Task { [shop = shop()] in try await shop.flatMap { shop in AsyncWork { shop.title } }.retry(5).value()
    }
    try await asked.wait()
    running.cancel()
    #expect((await #expect(throws: HTTPError.self) { try await running.value })?.isCancelled == true)
    #expect(mock.requests.count == 1)
  }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

@_spi(Toolkit) import MartletTesting
import Synchronization
import Testing

/// A test that waits for a long time reports where and why.
@Suite(.timeLimit(.minutes(5)))
struct LongWaitTests {
  private final class Lines: Sendable {
    let lines = Awaitable<[String]>([])
  }

  private let clock = ManualClock()
  private let written = Lines()

  private func wait(for count: Int, _ value: Awaitable<Int>) async throws -> Int {
    let longWait = LongWait(after: .seconds(10), on: clock) { [written] line in
      written.lines.update { $0.append(line) }
    }
    return try await value.wait(
      at: .init("Shop/BasketTests.swift", 42), saying: { "\(count) things; there are \($0)" }, longWait
    ) { $0 >= count ? $0 : nil }
  }

  @Test func itNamesTheLineAndWhatThereIs() async throws {
    let value = Awaitable(1)
    async let result = wait(for: 3, value)
    try await clock.sleepers(1)
    value.update { $0 = 2 }
    clock.advance(by: .seconds(10))

    let lines = try await written.lines.wait { $0.isEmpty ? nil : $0 }
    #expect(lines == ["Shop/BasketTests.swift:42 has waited 10.0 seconds for 3 things; there are 2"])
    value.update { $0 = 3 }
    #expect(try await result == 3)
  }

  @Test func aWaitThatEndsInTimeSaysNothing() async throws {
    let value = Awaitable(0)
    async let result = wait(for: 1, value)
    try await clock.sleepers(1)
    value.update { $0 = 1 }
    #expect(try await result == 1)
    clock.advance(by: .seconds(60))
    #expect(written.lines.value.isEmpty)
  }

  @Test func whatIsThereAlreadyIsNotWaitedFor() async throws {
    #expect(try await wait(for: 1, Awaitable(1)) == 1)
    #expect(clock.pendingWakeUps.isEmpty)
  }
}

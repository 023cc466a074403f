@testable import MartletCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LockedTests {
  private struct Failure: Error {}

  @Test func anErrorIsThrownAndReleasesTheLock() {
    let number = Locked(1)

    #expect(throws: Failure.self) {
      try number.withLock { number in
        number = 2
        throw Failure()
      }
    }

    #expect(number.withLock { $0 } == 2)
  }

  @Test func aDumpDoesNotShowTheValue() {
    var shown = ""
    dump(Locked("secret"), to: &shown)
    #expect(!shown.isEmpty && !shown.contains("secret"))
  }
}

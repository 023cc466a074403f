#if os(Linux)
import Storm
import TestSupport
import Testing

/// The short form of the losses in `make storm`.
@Suite("Losses of stores", .timeLimit(.minutes(5)))
struct StoreLossTests {
  /// Opening a secure store takes half a second, so its own tests have most of its losses.
  private static let cases = LossyStore.all.flatMap { store in
    StoreLoss.allCases.filter { !store.isSlow || $0 == .killed }.map { "\(store.name) \($0.rawValue)" }
  }

  @Test(arguments: cases) func anAcknowledgedWriteIsReadableAfterARestart(name: String) async throws {
    let words = name.split(separator: " ").map(String.init)
    let store = try #require(LossyStore.all.first { $0.name == words[0] })
    let loss = try #require(StoreLoss(rawValue: words[1]))

    let problems = await StoreLosses(program: try builtProgram("storm")).run(store, loss)

    #expect(problems == [])
  }
}
#endif

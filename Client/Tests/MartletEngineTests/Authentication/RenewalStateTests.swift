@_spi(Credentials) import MartletEngine
import Testing

struct RenewalStateTests {
  private typealias State = RenewalState<String, Int>

  private func text(_ decision: State.Decision) -> String {
    switch decision {
    case .use(let version): "use \(version.value)"
    case .wait(let work): "wait for \(work)"
    case .start(_, _, let old): "start from \(old ?? "nothing")"
    }
  }

  private func renewal(_ decision: State.Decision) -> Int {
    if case .start(_, let renewal, _) = decision { renewal } else { -1 }
  }

  @Test func aUsableValueIsUsed() {
    var state = State("a")
    #expect(text(state.value(where: { _ in true }, 1)) == "use a")
  }

  @Test func theFirstCallerStartsARenewalAndTheOthersWait() {
    var state = State(nil)
    let first = state.value(where: { _ in true }, 1)
    #expect(text(first) == "start from nothing")
    #expect(text(state.value(where: { _ in true }, 2)) == "wait for 1")
    #expect(text(state.replacement(where: { _ in true }, 3)) == "wait for 1")

    #expect(state.finish(renewal: renewal(first), with: "b")?.value == "b")
    #expect(text(state.value(where: { _ in true }, 4)) == "use b")
  }

  @Test func aRefusalOfAnOldValueReturnsTheNewerOne() {
    var state = State("a")
    let first = state.replacement(where: { $0.number == 0 }, 1)
    #expect(text(first) == "start from a")
    _ = state.finish(renewal: renewal(first), with: "b")

    #expect(text(state.replacement(where: { $0.number == 0 }, 2)) == "use b")
    #expect(text(state.replacement(where: { $0.value == "b" }, 3)) == "start from b")
  }

  @Test func aRenewalWithoutAResultIsFollowedByAnother() {
    var state = State("a")
    let first = state.replacement(where: { _ in true }, 1)
    #expect(state.finish(renewal: renewal(first), with: nil) == nil)

    // The refused value is not used again, but the next renewal starts from it.
    #expect(text(state.value(where: { _ in true }, 2)) == "start from a")
  }

  @Test func replacingTheValueEndsTheWaitAndDiscardsTheRenewal() {
    var state = State("a")
    let first = state.replacement(where: { _ in true }, 1)
    let (ended, version) = state.use("outside")
    #expect(ended == 1)
    #expect(version?.value == "outside")

    #expect(state.finish(renewal: renewal(first), with: "late") == nil)
    #expect(text(state.value(where: { _ in true }, 2)) == "use outside")
  }

  @Test func aDiscardedRenewalDoesNotEndTheNextOne() {
    var state = State("a")
    let first = state.replacement(where: { _ in true }, 1)
    _ = state.use(nil)
    let second = state.value(where: { _ in true }, 2)
    #expect(text(second) == "start from nothing")

    #expect(state.finish(renewal: renewal(first), with: "late") == nil)
    #expect(state.finish(renewal: renewal(second), with: "right")?.value == "right")
  }
}

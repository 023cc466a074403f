import MartletEngine
import Testing

struct RenewalStateTests {
  private typealias State = RenewalState<String, Int>

  private func text(_ decision: State.Decision) -> String {
    switch decision {
    case .use(let version): "use \(version.value)"
    case .wait: "wait"
    case .start(_, let old): "start from \(old ?? "nothing")"
    }
  }

  private func renewal(_ decision: State.Decision) -> Int {
    if case .start(let renewal, _) = decision { renewal } else { -1 }
  }

  @Test func aUsableValueIsUsed() {
    var state = State("a")
    #expect(text(state.need(where: { _ in true }, 1)) == "use a")
  }

  @Test func theFirstWhoNeedsAnotherStartsAndTheRestWait() {
    var state = State(nil)
    let first = state.need(where: { _ in true }, 1)
    #expect(text(first) == "start from nothing")
    #expect(text(state.need(where: { _ in true }, 2)) == "wait")
    #expect(text(state.replace(where: { _ in true }, 3)) == "wait")

    let (waiters, version) = state.ended(renewal: renewal(first), with: "b")
    #expect(waiters == [1, 2, 3])
    #expect(version?.value == "b")
    #expect(text(state.need(where: { _ in true }, 4)) == "use b")
  }

  @Test func whoWasRefusedWithAnOldValueGetsTheNewerOne() {
    var state = State("a")
    let first = state.replace(where: { $0.number == 0 }, 1)
    #expect(text(first) == "start from a")
    _ = state.ended(renewal: renewal(first), with: "b")

    #expect(text(state.replace(where: { $0.number == 0 }, 2)) == "use b")
    #expect(text(state.replace(where: { $0.value == "b" }, 3)) == "start from b")
  }

  @Test func aRenewalThatBroughtNothingLetsTheNextTryAgain() {
    var state = State("a")
    let first = state.replace(where: { _ in true }, 1)
    let (waiters, version) = state.ended(renewal: renewal(first), with: nil)
    #expect(waiters == [1])
    #expect(version == nil)

    // what was refused is not used again, though it is still what the next renewal begins with
    #expect(text(state.need(where: { _ in true }, 2)) == "start from a")
  }

  @Test func aValueFromOutsideEndsTheWaitAndTheRenewalDoesNotCount() {
    var state = State("a")
    let first = state.replace(where: { _ in true }, 1)
    let (waiters, version) = state.use("outside")
    #expect(waiters == [1])
    #expect(version?.value == "outside")

    let late = state.ended(renewal: renewal(first), with: "late")
    #expect(late.waiters.isEmpty && late.version == nil)
    #expect(text(state.need(where: { _ in true }, 2)) == "use outside")
  }

  @Test func aRenewalOfBeforeDoesNotEndTheNext() {
    var state = State("a")
    let first = state.replace(where: { _ in true }, 1)
    _ = state.use(nil)
    let second = state.need(where: { _ in true }, 2)
    #expect(text(second) == "start from nothing")

    #expect(state.ended(renewal: renewal(first), with: "late").waiters.isEmpty)
    #expect(state.ended(renewal: renewal(second), with: "right").waiters == [2])
  }
}

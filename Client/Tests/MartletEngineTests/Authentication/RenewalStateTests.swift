@_spi(Credentials) @testable import MartletEngine
import Testing

struct RenewalStateTests {
  private typealias State = RenewalState<String, Int>

  private func text(_ decision: State.Decision?) -> String {
    switch decision {
    case .leave: "leave"
    case .wait(let work): "wait for \(work)"
    case .start(_, _, let old): "start from \(old ?? "nothing")"
    case nil: "look again"
    }
  }

  private func renewal(_ decision: State.Decision?) -> Int {
    if case .start(_, let renewal, _) = decision { renewal } else { -1 }
  }

  private func text(_ ending: State.Ending) -> String {
    switch ending {
    case .finished(let version): version?.value ?? "nothing"
    case .discarded: "discarded"
    }
  }

  @Test func theFirstCallerStartsARenewalAndTheOthersWait() {
    var state = State(nil)
    let first = state.renew(unlessNewerThan: nil, 1)
    #expect(text(first) == "start from nothing")
    #expect(text(state.renew(unlessNewerThan: nil, 2)) == "wait for 1")

    #expect(text(state.finish(renewal: renewal(first), with: "b")) == "b")
    #expect(state.usable?.value == "b")
    #expect(text(state.renew(unlessNewerThan: nil, 3)) == "look again")
  }

  @Test func noValueIsUsableWhileARenewalRuns() {
    var state = State("a")
    let seen = state.usable
    #expect(text(state.renew(unlessNewerThan: seen, 1)) == "start from a")

    #expect(state.usable == nil)
    #expect(state.number == seen?.number)
    #expect(text(state.renew(unlessNewerThan: seen, 2)) == "wait for 1")
  }

  @Test func onlyTheCurrentValueCanBeRefused() throws {
    var state = State("a")
    let old = try #require(state.usable)
    let isRefused = state.refuse(old)
    #expect(isRefused && state.usable == nil)
    let first = state.renew(unlessNewerThan: nil, 1)
    _ = state.finish(renewal: renewal(first), with: "b")

    let isRefusedAfterwards = state.refuse(old)
    #expect(!isRefusedAfterwards)
    #expect(state.usable?.value == "b")
  }

  @Test func aRefusedValueStaysRefusedIfItsRenewalFails() throws {
    var state = State("a")
    let isRefused = state.refuse(try #require(state.usable))
    #expect(isRefused)
    let first = state.renew(unlessNewerThan: nil, 1)
    #expect(text(state.finish(renewal: renewal(first), with: nil)) == "nothing")

    // The refused value is not used again, but the next renewal starts from it.
    #expect(state.usable == nil)
    #expect(text(state.renew(unlessNewerThan: nil, 2)) == "start from a")
  }

  @Test func aValueThatIsRefusedWhileItIsRenewedStaysRefused() throws {
    var state = State("a")
    let early = state.renew(unlessNewerThan: state.usable, 1)
    let isRefused = state.refuse(try #require(state.latest))
    #expect(isRefused)
    _ = state.finish(renewal: renewal(early), with: nil)

    #expect(state.usable == nil)
    #expect(text(state.renew(unlessNewerThan: nil, 2)) == "start from a")
  }

  @Test func whoHasSignedOutNeitherStartsNorAwaitsARenewal() {
    var state = State(nil)
    #expect(text(state.renew(unlessNewerThan: nil, 1, hasSignedOut: true)) == "leave")
    #expect(state.runningWork == nil)
    _ = state.renew(unlessNewerThan: nil, 2)
    #expect(text(state.renew(unlessNewerThan: nil, 3, hasSignedOut: true)) == "leave")
  }

  @Test func replacingTheValueEndsTheWaitAndDiscardsTheRenewal() {
    var state = State("a")
    let first = state.renew(unlessNewerThan: state.usable, 1)
    let (ended, version) = state.use("outside")
    #expect(ended == [1])
    #expect(version?.value == "outside")

    #expect(text(state.finish(renewal: renewal(first), with: "late")) == "discarded")
    #expect(state.usable?.value == "outside")
  }

  @Test func aDiscardedRenewalDoesNotEndTheNextOne() {
    var state = State("a")
    let first = state.renew(unlessNewerThan: state.usable, 1)
    _ = state.use(nil)
    let second = state.renew(unlessNewerThan: nil, 2)
    #expect(text(second) == "start from nothing")

    #expect(text(state.finish(renewal: renewal(first), with: "late")) == "discarded")
    #expect(text(state.finish(renewal: renewal(second), with: "right")) == "right")
  }

  @Test func aSignOutRemovesTheValueFromBefore() {
    var state = State("anna's", begun: 5)
    state.signOut = 5
    #expect(state.usable?.value == "anna's", "set after the sign-out")
    state.signOut = 6
    #expect(state.usable == nil && state.idle == nil && state.accepted == nil && state.number == nil)
    #expect(text(state.renew(unlessNewerThan: nil, 1, begun: 6)) == "start from nothing")
  }

  @Test func aRenewalFromBeforeASignOutIsNotShared() {
    var state = State(nil)
    let former = state.renew(unlessNewerThan: nil, 1, begun: 5)
    state.signOut = 6
    #expect(state.runningWork == nil)
    let next = state.renew(unlessNewerThan: nil, 2, begun: 7)
    #expect(text(next) == "start from nothing")
    #expect(text(state.finish(renewal: renewal(former), with: "anna's")) == "nothing")

    #expect(text(state.finish(renewal: renewal(next), with: "ben's")) == "ben's")
    let ended = state.forget()
    #expect(ended.isEmpty && state.usable?.value == "ben's")
  }

  @Test(arguments: [false, true]) func forgettingEndsTheRenewalFromBefore(isReplaced: Bool) {
    var state = State("anna's", begun: 5)
    let former = state.renew(unlessNewerThan: state.usable, 1, begun: 5)
    state.signOut = 6
    let next = isReplaced ? state.renew(unlessNewerThan: nil, 2, begun: 6) : nil
    let ended = state.forget()
    #expect(ended == [1] && state.held == nil)
    #expect(text(state.finish(renewal: renewal(former), with: "anna's new one")) == "discarded")
    if isReplaced { #expect(text(state.finish(renewal: renewal(next), with: "ben's")) == "ben's") }
  }

  @Test func onlyTheCurrentIdleValueIsRemoved() throws {
    var state = State("a")
    let old = try #require(state.idle)
    _ = state.use("b")
    let isOldRemoved = state.remove(old)
    #expect(!isOldRemoved && state.usable?.value == "b")
    let current = try #require(state.idle)
    let first = state.renew(unlessNewerThan: current, 1)
    let isRemovedMeanwhile = state.remove(current)
    _ = state.finish(renewal: renewal(first), with: nil)
    #expect(!isRemovedMeanwhile && state.usable?.value == "b", "a renewal ran")

    let isRemoved = state.remove(current)
    #expect(isRemoved && state.number == nil)
  }

  @Test func numbersGrow() {
    var state = State(nil)
    #expect(state.number == nil)
    var numbers: [Int] = []
    for value in ["a", "b", "c"] {
      numbers.append(state.use(value).version?.number ?? -1)
      _ = state.finish(renewal: renewal(state.renew(unlessNewerThan: state.usable, 1)), with: value)
      numbers.append(state.number ?? -1)
    }
    #expect(numbers == numbers.sorted() && Set(numbers).count == 6)
  }
}

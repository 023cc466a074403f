@testable import MartletCombine
import Testing

/// The life of a link, call by call.
@Suite(.timeLimit(.minutes(5)))
struct LinkStateTests {
  @Test func noCallEntersBeforeTheLinkIsOpen() {
    let state = LinkState()
    var entered = [state.enter(unless: [])]
    state.set(.claimed)
    entered.append(state.enter(unless: []))
    state.set(.open)
    entered.append(state.enter(unless: []))
    #expect(entered == [false, false, true])
  }

  @Test func onlyTheFirstSubscriptionClaimsTheLink() {
    let state = LinkState()
    let before = [state.set(.claimed), state.set(.claimed)]
    #expect(before == [[], .claimed])
  }

  @Test(arguments: [LinkState.Flags.drained, .closed, .pending])
  func aCallThatExcludesAFlagDoesNotEnterOnceItIsSet(flag: LinkState.Flags) {
    let state = LinkState()
    state.set([.open, flag])
    let entered = [state.enter(unless: flag), state.enter(unless: [])]
    #expect(entered == [false, true])
  }

  @Test func onlyTheLastCallThatLeavesAfterTheEndReleasesTheContents() {
    let state = LinkState()
    state.set(.open)
    let entered = [state.enter(unless: .closed), state.enter(unless: .closed)]
    let beforeTheEnd = state.leave()
    state.set(.closed)
    let (late, last) = (state.enter(unless: .closed), state.leave())
    #expect(entered == [true, true])
    #expect(!beforeTheEnd && !late && last)
  }

  @Test func callsDoNotChangeTheFlags() {
    let state = LinkState()
    state.set([.open, .requested])
    _ = state.enter(unless: [])
    let during = state.flags
    let isLast = state.leave()
    let after = state.flags
    #expect(during == [.open, .requested] && after == during)
    #expect(!isLast)
  }
}

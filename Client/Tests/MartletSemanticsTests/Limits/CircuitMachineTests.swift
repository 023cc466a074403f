import MartletSemantics
import Testing

/// The states of a circuit breaker that opens with half of at least four outcomes in ten seconds, for five seconds.
struct CircuitMachineTests {
  private func state(probes: Int = 1) -> CircuitMachine {
    CircuitMachine(
      CircuitMachine.Rule(
        failureShare: 0.5, minimumCount: 4, window: .seconds(10), openTime: .seconds(5), probes: probes))
  }

  /// Sends requests with these outcomes, all at once.
  private func run(_ state: inout CircuitMachine, _ outcomes: [CircuitMachine.Result], at seconds: Double) {
    for outcome in outcomes {
      guard case .sent(let ticket) = state.admit(at: .seconds(seconds)) else { continue }
      state.record(outcome, of: ticket, at: .seconds(seconds))
    }
  }

  @Test func itOpensWithTheShareOfFailures() {
    let table: [([CircuitMachine.Result], CircuitState)] = [
      ([.failure, .failure, .failure], .closed), ([.failure, .failure, .failure, .failure], .open),
      ([.success, .success, .success, .failure, .failure], .closed),
      ([.success, .success, .failure, .failure], .open), ([.failure, .failure, .success, .success], .closed),
      ([.failure, .failure, .success, .success, .failure], .open),
      ([.neutral, .failure, .neutral, .failure, .neutral, .failure], .closed),
    ]
    for (outcomes, phase) in table {
      var state = state()
      run(&state, outcomes, at: 1)
      #expect(state.phase == phase, "\(outcomes)")
    }
  }

  @Test func outcomesOutsideOfTheWindowDoNotCount() {
    var old = state()
    run(&old, [.failure, .failure, .failure], at: 1)
    run(&old, [.failure], at: 12)
    #expect(old.phase == .closed)
    var recent = state()
    run(&recent, [.failure, .failure, .failure], at: 4)
    run(&recent, [.failure], at: 9)
    #expect(recent.phase == .open)
  }

  @Test func whileItIsOpenRequestsAreRefusedForTheRestOfItsTime() {
    var state = state()
    run(&state, [.failure, .failure, .failure, .failure], at: 1)
    #expect(state.admit(at: .seconds(1)) == .refused(retryAfter: .seconds(5)))
    #expect(state.admit(at: .seconds(4)) == .refused(retryAfter: .seconds(2)))
    #expect(state.phase == .open)
  }

  @Test func afterItsTimeSoManyProbesAreSent() throws {
    var state = state(probes: 2)
    run(&state, [.failure, .failure, .failure, .failure], at: 1)
    let first = try ticket(state.admit(at: .seconds(6)))
    let second = try ticket(state.admit(at: .seconds(6)))
    #expect(state.phase == .halfOpen && first.isProbe)
    #expect(state.admit(at: .seconds(6)) == .refused(retryAfter: .zero))
    state.record(.success, of: first, at: .seconds(7))
    #expect(state.phase == .halfOpen)
    #expect(state.admit(at: .seconds(7)) == .refused(retryAfter: .zero))
    state.record(.success, of: second, at: .seconds(7))
    #expect(state.phase == .closed)
    // earlier failures are forgotten
    run(&state, [.failure, .failure, .failure], at: 8)
    #expect(state.phase == .closed)
  }

  @Test func aProbeThatFailsOpensItAgain() throws {
    var state = state(probes: 2)
    run(&state, [.failure, .failure, .failure, .failure], at: 1)
    let first = try ticket(state.admit(at: .seconds(6)))
    let second = try ticket(state.admit(at: .seconds(6)))
    state.record(.failure, of: first, at: .seconds(8))
    #expect(state.phase == .open)
    #expect(state.admit(at: .seconds(9)) == .refused(retryAfter: .seconds(4)))
    // the other probe was sent before: it says nothing about the new period
    state.record(.success, of: second, at: .seconds(9))
    #expect(state.phase == .open)
  }

  @Test func aProbeThatSaysNothingLeavesItsPlace() throws {
    var state = state()
    run(&state, [.failure, .failure, .failure, .failure], at: 1)
    state.record(.neutral, of: try ticket(state.admit(at: .seconds(6))), at: .seconds(6))
    #expect(state.phase == .halfOpen)
    run(&state, [.success], at: 6)
    #expect(state.phase == .closed)
  }

  @Test func whatWasSentBeforeItOpenedDoesNotCountAfterwards() throws {
    var state = state()
    let early = try (0..<4).map { _ in try ticket(state.admit(at: .zero)) }
    run(&state, [.failure, .failure, .failure, .failure], at: 1)
    run(&state, [.success], at: 6)
    #expect(state.phase == .closed)
    for ticket in early { state.record(.failure, of: ticket, at: .seconds(7)) }
    #expect(state.phase == .closed)
  }

  private func ticket(_ admission: CircuitMachine.Admission) throws -> CircuitMachine.Ticket {
    guard case .sent(let ticket) = admission else {
      struct Refused: Error {}
      throw Refused()
    }
    return ticket
  }
}

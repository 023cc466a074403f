import MartletSemantics
import Synchronization

/// The shell around ``RenewalState``: one renewal at a time, in a task of its own.
///
/// Nobody's cancellation ends a renewal, not even that of everybody who waits: a server that gave out a new token has taken
/// the old one back, and to drop the answer would be to lose both. What it brings is there for the next who comes.
package final class Renewal<Value: Sendable>: Sendable {
  package typealias Version = RenewedValue<Value>
  typealias State = RenewalState<Value, AnswerGate<Version?>>
  package typealias Work = @Sendable (Value?) async throws -> Value?

  private let state: Mutex<State>
  private let stepAside: StepAside

  /// - Parameter stepAside: set while the value is renewed.
  package init(_ value: Value?, _ stepAside: StepAside) {
    state = Mutex(State(value))
    self.stepAside = stepAside
  }

  /// The number of the value that is there; nil while there is none.
  package var number: Int? { state.withLock { $0.number } }

  /// The value if it fulfils the condition, else a new one; nil where there is none to be had.
  package func value(where isUsable: @Sendable (Version) -> Bool, renew: @escaping Work) async throws -> Version? {
    let gate = AnswerGate<Version?>()
    return try await obey(state.withLock { $0.need(where: isUsable, gate) }, gate, renew)
  }

  /// Another value than one that was refused; nil where there is none to be had.
  package func value(insteadOf wasRefused: @Sendable (Version) -> Bool, renew: @escaping Work) async throws -> Version?
  {
    let gate = AnswerGate<Version?>()
    return try await obey(state.withLock { $0.replace(where: wasRefused, gate) }, gate, renew)
  }

  /// Takes a value from outside.
  package func use(_ value: Value?) {
    let (waiters, version) = state.withLock { $0.use(value) }
    for waiter in waiters { waiter.answer(.success(version)) }
  }

  private func obey(
    _ decision: State.Decision, _ gate: AnswerGate<Version?>, _ renew: @escaping Work
  ) async throws -> Version? {
    switch decision {
    case .use(let version): return version
    case .wait: return try await gate.wait()
    case .start(let renewal, let old):
      Task { await stepAside.perform { await run(renewal, from: old, renew) } }
      return try await gate.wait()
    }
  }

  private func run(_ renewal: Int, from old: Value?, _ renew: Work) async {
    let result: Result<Value?, any Error>
    do { result = .success(try await renew(old)) } catch { result = .failure(error) }
    let (waiters, version) = state.withLock { $0.ended(renewal: renewal, with: (try? result.get()) ?? nil) }
    let answer = result.map { _ in version }
    for waiter in waiters { waiter.answer(answer) }
  }
}

import Foundation
import MartletEngine

/// One who is asked: an observer or the delegate.
///
/// SAFETY: it is called on the session's serial delegate queue and nowhere else.
struct Party: @unchecked Sendable {
  let events: any SAPURLSessionEvents
}

extension SAPURLSession {
  /// Who is asked now, in order: the observers, then the delegate.
  var parties: [Party] {
    state.withLock { state in
      state.observers.map { Party(events: $0) } + [state.delegate].compactMap { $0.map { Party(events: $0) } }
    }
  }

  /// Whether somebody is still to be asked, who may have been unregistered since the asking began.
  func takesPart(_ party: Party) -> Bool {
    state.withLock { $0.delegate === party.events || $0.observers.contains { $0 === party.events } }
  }

  /// Asks one, on the delegate queue, and waits for the first answer; the end of the current task ends the wait.
  func ask<Answer: Sendable>(
    _ party: Party,
    _ question: @escaping @Sendable (any SAPURLSessionEvents, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    let gate = AnswerGate<Answer>()
    delegateQueue.addOperation { question(party.events) { gate.answer(.success($0)) } }
    return try await gate.wait()
  }

  /// Tells all, on the delegate queue, without waiting.
  func tell(_ news: @escaping @Sendable (any SAPURLSessionEvents) -> Void) {
    for party in parties { delegateQueue.addOperation { news(party.events) } }
  }

  /// Calls somebody on the delegate queue, and waits until he returns.
  func onQueue(_ call: @escaping @Sendable () -> Void) async throws {
    let gate = AnswerGate<Void>()
    delegateQueue.addOperation {
      call()
      gate.answer(.success(()))
    }
    try await gate.wait()
  }
}

extension SAPURLSessionTask {
  /// Asks all, one after another, each about what the one before made of the value, until somebody settles it. Who fails the
  /// task fails it with exactly his error.
  ///
  /// - Parameter first: the answer where nobody is asked, which holds the value.
  func consult<Answer: Disposition>(
    _ first: Answer,
    _ question:
      @escaping @Sendable (any SAPURLSessionEvents, Answer.Value, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    var answer = first
    for party in session.parties where session.takesPart(party) {
      guard case .goOn(let value) = answer.opinion else { break }
      answer = try await session.ask(party) { question($0, value, $1) }
      if case .fail(let error) = answer.opinion { throw fail(error) }
    }
    return answer
  }
}

import MartletSemantics
import Synchronization

/// Where a ``PasswordSource`` finds the credential for a protection space.
enum PasswordLookup: Sendable {
  case fixed(Credential)
  case netrc(Netrc)
  case asking(AskedPasswords)
  /// Asked by every exchange for itself; nothing is kept.
  case askingEach(PasswordSource.Asking)
  /// In the exchange: what stood in its URL.
  case exchange(ExchangeLocal<[Origin: Credential]>)

  /// The credential for a question; nil, or the refused one again, where there is no other.
  func credential(
    for question: PasswordQuestion, refused: Credential?, in exchange: Exchange
  ) async throws -> Credential? {
    switch self {
    case .fixed(let credential): credential
    case .netrc(let netrc): netrc.credential(for: question.space.origin.host)
    case .exchange(let credentials): exchange[credentials][question.space.origin]
    case .askingEach(let ask): try await ask(question)
    case .asking(let passwords): try await passwords.credential(for: question, refused: refused)
    }
  }

  /// The credential that is known before anybody asks.
  func known(for origin: Origin) -> Credential? {
    switch self {
    case .fixed(let credential): credential
    case .netrc(let netrc): netrc.credential(for: origin.host)
    case .asking, .askingEach, .exchange: nil
    }
  }

  /// The only credential that the exchange may carry; nil where it may carry any of the source's.
  func only(for origin: Origin, in exchange: Exchange) -> Credential? {
    if case .exchange(let credentials) = self { exchange[credentials][origin] } else { nil }
  }
}

/// Passwords that somebody is asked for, one question at a time for each protection space.
final class AskedPasswords: Sendable {
  private let ask: PasswordSource.Asking
  private let stepAside: StepAside
  private let spaces = Mutex<[ProtectionSpace: Renewal<Credential>]>([:])

  init(_ ask: @escaping PasswordSource.Asking, _ stepAside: StepAside) {
    self.ask = ask
    self.stepAside = stepAside
  }

  func credential(for question: PasswordQuestion, refused: Credential?) async throws -> Credential? {
    let renewal = spaces.withLock { spaces in
      let renewal = spaces[question.space] ?? Renewal(nil, stepAside)
      if spaces.count >= 100 { spaces.removeAll() }  // a server can invent realms
      spaces[question.space] = renewal
      return renewal
    }
    let answer = try await renewal.value(insteadOf: { $0.value == refused }) { [ask] _ in
      do { return try await ask(question) } catch {
        throw HTTPError(
          .authenticationFailed, "the password for \(question.space) could not be had, see the error beneath",
          underlying: error)
      }
    }
    return answer?.value
  }
}

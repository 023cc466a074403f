@_spi(Toolkit) public import MartletEngine
import MartletSemantics
import Synchronization

/// The Kerberos tickets of a user or a service. ``NegotiateSource`` makes tokens for servers from them, and a transport
/// makes those for its proxy:
///
/// ```swift
/// connection.proxy = .http("proxy.example.com", port: 3128).authenticated(by: KerberosTickets())
/// ```
///
/// **The user.** By default the tickets are those of the process: from the cache that `KRB5CCNAME` names, otherwise
/// from the system's default. `kinit` gets them. With a keytab that `KRB5_CLIENT_KTNAME` names, the library gets and
/// renews them itself. The cache is read for each token, so a new `kinit` takes effect at once.
///
/// **The service.** The ticket for a host is for the service `HTTP@host`. The host is that of the URL, or of the proxy
/// setting, exactly as written: this module asks no name server for another name. The Kerberos library does, unless
/// `krb5.conf` says `dns_canonicalize_hostname = false`, which is recommended: a hostile name server could otherwise
/// choose the service.
///
/// **The time.** The library blocks while it reads files and contacts a key distribution centre. It does so on at most
/// four threads of this module, which a cancelled request leaves behind. A token may take 60 seconds.
///
/// **Errors** are of kind ``Martlet/HTTPError/Kind/authenticationFailed`` and say what to do: there is no ticket, it
/// has expired, the service or its realm is unknown, or the clocks differ. If no key distribution centre answers, the
/// kind is ``Martlet/HTTPError/Kind/cannotConnect``.
///
/// The tokens for a transport's proxy identify the user. A proof of the proxy is not checked.
public final class KerberosTickets: ProxyTokens {
  private let store: TicketStore
  /// The threads, shared by all tickets.
  static let threads = WorkerThreads("martlet-kerberos", limit: 4)
  private static let limit = Duration.seconds(60)

  /// Makes the tickets of a cache or a keytab. Nothing is read before the first token.
  ///
  /// - Parameters:
  ///   - cache: the credential cache, as in `KRB5CCNAME`: `FILE:/run/orders/tickets`. By default it is the process's;
  ///     with a keytab, it is a separate one in memory, which exists as long as these tickets are used.
  ///   - keytab: the file with the user's key, with which the library gets tickets: `/etc/orders.keytab`. If it has
  ///     several users, the first one counts. None by default.
  public init(cache: String? = nil, keytab: String? = nil) {
    store = TicketStore(cache: cache, keytab: keytab)
  }

  /// `Negotiate` (RFC 4559).
  public var scheme: String { "Negotiate" }

  /// Returns a token for the service `HTTP@host`, in base64. It is valid for one request.
  ///
  /// - Throws: see ``KerberosTickets``; `CancellationError` if the task is cancelled.
  public func token(for host: String) async throws -> String { try await offer(to: host).token }

  /// Begins a negotiation with the service `HTTP@host`.
  func offer(to host: String) async throws -> Offer {
    try Task.checkCancellation()
    let deadline = Deadline(Self.limit, for: "the Kerberos token for HTTP@\(host)", on: ContinuousClock())
    do {
      return try await Self.threads.run(within: deadline) { [store] in try Offer(to: host, with: store) }
    } catch var error as HTTPError where error.kind == .deadlineExceeded {
      error.kind = .connectTimeout
      error.message += ": the key distribution centre, or the Kerberos library on this machine, does not answer"
      error.phase = .preparing
      throw error
    }
  }
}

/// A token for a service, with the state that checks the service's answer.
final class Offer: Sendable {
  let token: String
  private let negotiation: Mutex<Negotiation>

  /// Makes a token. This blocks.
  fileprivate init(to host: String, with store: TicketStore) throws(HTTPError) {
    var negotiation = Negotiation(by: .spnego)
    let begun = ContinuousClock.now
    do throws(KerberosFailure) {
      token = try negotiation.begin(for: host, with: store).base64EncodedString()
    } catch {
      let cause = error.cause(after: begun.duration(to: .now)) { () throws(KerberosFailure) in
        var again = Negotiation(by: .kerberos)
        _ = try again.begin(for: host, with: store)
      }
      throw cause.error(for: host, with: store)
    }
    self.negotiation = Mutex(negotiation)
  }

  /// Whether the service's answer proves that it has the key of the intended service. It neither blocks nor reads
  /// files.
  func isProven(by answer: Data) -> Bool {
    negotiation.withLock { negotiation in
      if negotiation.isComplete { return true }
      do throws(KerberosFailure) { return try negotiation.step(answer) == nil && negotiation.isComplete } catch {
        return false
      }
    }
  }
}

extension HTTPError {
  /// The kinds of failure. New ones may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name, as it is written here.
    public let name: String

    package init(name: String) { self.name = name }

    public var description: String { name }

    /// The request cannot be sent as it is: its URL, a field, its length.
    public static let invalidRequest = Kind(name: "invalidRequest")
    /// The task was cancelled.
    public static let cancelled = Kind(name: "cancelled")
    /// No response's head came in time: ``RequestOptions/responseTimeout``.
    public static let responseTimeout = Kind(name: "responseTimeout")
    /// A response's body fell silent: ``RequestOptions/idleTimeout``.
    public static let idleTimeout = Kind(name: "idleTimeout")
    /// The connection did not come about in the time that the transport grants.
    public static let connectTimeout = Kind(name: "connectTimeout")
    /// The whole exchange took longer than ``RequestOptions/deadline``.
    public static let deadlineExceeded = Kind(name: "deadlineExceeded")
    /// The host's name (or the proxy's) is unknown.
    public static let cannotResolveHost = Kind(name: "cannotResolveHost")
    /// Nobody answers at the host and port.
    public static let cannotConnect = Kind(name: "cannotConnect")
    /// The proxy refused, or cannot be reached.
    public static let proxyFailed = Kind(name: "proxyFailed")
    /// The connection broke before the response was whole.
    public static let connectionLost = Kind(name: "connectionLost")
    /// What the peer sent is no HTTP, or breaks its rules.
    public static let protocolViolation = Kind(name: "protocolViolation")
    /// The peer's certificate is not trusted, has expired, or belongs to another host.
    public static let untrustedCertificate = Kind(name: "untrustedCertificate")
    /// The peer's public key is none of those that were pinned.
    public static let pinMismatch = Kind(name: "pinMismatch")
    /// The TLS handshake failed for another reason: no common version or cipher, a missing client certificate.
    public static let tlsFailed = Kind(name: "tlsFailed")
    /// The client certificate cannot be read.
    public static let badClientCertificate = Kind(name: "badClientCertificate")
    /// The client certificate's password is wrong.
    public static let badClientCertificatePassword = Kind(name: "badClientCertificatePassword")
    /// The heads are larger than ``RequestOptions/headerLimit``.
    public static let headersTooLarge = Kind(name: "headersTooLarge")
    /// The body is larger than ``RequestOptions/bodyLimit``, or than what was to be collected.
    public static let bodyTooLarge = Kind(name: "bodyTooLarge")
    /// The body's `Content-Encoding` cannot be undone: it is damaged, or an unknown one.
    public static let undecodableBody = Kind(name: "undecodableBody")
    /// The response is not what the verb needs: another status, another type, JSON of another shape. The beginning of the
    /// body, where it was read, is in ``HTTPError/body``.
    public static let unexpectedResponse = Kind(name: "unexpectedResponse")
    /// A response's body was read a second time.
    public static let bodyAlreadyRead = Kind(name: "bodyAlreadyRead")
    /// A request's body would have to be sent a second time, and is there only once.
    public static let bodyNotReplayable = Kind(name: "bodyNotReplayable")
    /// More redirects than ``RedirectPolicy/limit``.
    public static let tooManyRedirects = Kind(name: "tooManyRedirects")
    /// A redirect that the policy or the protocol forbids to follow.
    public static let redirectRefused = Kind(name: "redirectRefused")
    /// The exchange went again too often: ``SessionConfiguration/attemptLimit``.
    public static let tooManyAttempts = Kind(name: "tooManyAttempts")
    /// The credentials for a request could not be had or cannot be sent: renewing a token failed, somebody who was asked for
    /// a password could not be, a user's name does not fit the scheme. A 401 as such is a response and no error. Where the
    /// credentials could not be had for want of a network, the kind is that of the failed connection.
    public static let authenticationFailed = Kind(name: "authenticationFailed")
    /// Nothing is stored, and the network was not to be asked.
    public static let notCached = Kind(name: "notCached")
    /// A file cannot be read or written.
    public static let file = Kind(name: "file")
    /// The transport was shut down.
    public static let shutDown = Kind(name: "shutDown")
    /// Something else: see ``HTTPError/underlying``.
    public static let other = Kind(name: "other")
  }
}

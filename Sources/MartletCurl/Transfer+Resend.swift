#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// libcurl sends a request again by itself, up to five times, when a connection from the pool ends before any byte of a
/// response, and when an HTTP/2 server refuses a stream. It asks nobody whether the request may be repeated: that is seen
/// to here, where each new beginning and each rewound body passes.
extension Transfer {
  /// The request is about to go out, for the first time or again.
  func mayBegin(address: UnsafePointer<CChar>?, port: Int32) -> Bool {
    guard peer != nil else {
      peer = Peer(address: address.map { String(cString: $0) } ?? "", port: Int(port), origin: origin)
      return true
    }
    guard allowsResend() else { return false }
    if !isAnswered { tell("sent again on another connection: \(reasonOfResend)") }
    dismissHead()  // what it answered is over: it is no answer to what goes out now
    return true
  }

  /// libcurl wants to send the body again. Only bytes can; anything else the session has to open anew.
  func rewindBody(to offset: Int64) -> Bool {
    guard allowsResend() else { return false }
    if rewindBytes(to: offset) { return true }
    if !isAnswered { failure = failure ?? failureOfResend }
    return false
  }

  /// It may after an answer that it deals with itself (a proxy's challenge, 417), when the server wants the same over
  /// HTTP/1.1, when the server refused the request, and when the request may be repeated.
  ///
  /// Stopping a transfer here is not without risk over HTTP/2: libcurl 7.88 then resets the stream that has the old one's
  /// number on the new connection, which may be another transfer's. That is better than an order placed twice.
  private func allowsResend() -> Bool {
    if isAnswered || isRefused || limits.mayRepeat { return true }
    failure = failure ?? failureOfResend
    return false
  }

  private var isAnswered: Bool { isHoldingHead || handle.lastError.contains("HTTP_1_1_REQUIRED") }

  /// Over HTTP/2, a connection that broke leaves a word of what was wrong; a refusal, by GOAWAY say, leaves none.
  private var isRefused: Bool {
    guard let peer, let peersOfHTTP2 else { return false }
    return handle.lastError.isEmpty && peersOfHTTP2.contains(peer)
  }

  private var reasonOfResend: String {
    isRefused
      ? "the server refused it unread"
      : "the one it went over had served before, and ended before any byte of a response"
  }

  private var failureOfResend: HTTPError {
    let message = "\(CurlFailure.peer(of: handle)): to be sent again on another connection: \(reasonOfResend)"
    var error = HTTPError(.connectionLost, message, phase: .waiting)
    error.delivery = isRefused ? .refused : .staleConnection
    return error
  }

  /// Scheme, host and port of the request, as its URL writes them.
  private var origin: Substring {
    let url = handle.string(CURLINFO_EFFECTIVE_URL) ?? ""
    guard let start = url.utf8.firstRange(of: "://".utf8)?.upperBound else { return url[...] }
    return url[..<(url.utf8[start...].firstIndex { "/?".utf8.contains($0) } ?? url.endIndex)]
  }

  /// The other end of a connection. The origin is part of it: behind one address there may be many, those of a proxy or of a
  /// network that delivers content, and each speaks what it likes.
  struct Peer: Hashable {
    let address: String
    let port: Int
    let origin: Substring
  }
}

/// The peers that have answered in HTTP/2. libcurl does not say which version a connection without a response speaks.
/// It belongs to the loop thread.
final class PeersOfHTTP2 {
  private var peers: Set<Transfer.Peer> = []
  private static let capacity = 10_000

  func contains(_ peer: Transfer.Peer) -> Bool { peers.contains(peer) }

  func insert(_ peer: Transfer.Peer) {
    if peers.count >= Self.capacity { peers.removeAll() }
    peers.insert(peer)
  }
}
#endif

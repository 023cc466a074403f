#if os(Linux)
import MartletEngine
import MartletSemantics

/// Receives the events of a ``LayeredSocket``: the connection, or its opening before. Called on the loop's thread.
protocol LayeredSocketHandler: AnyObject {
  /// Runs a step of the innermost layer's handshake on another thread, and passes it to ``LayeredSocket/ended(_:)`` on
  /// the loop's.
  func run(_ step: HandshakeStep)
  /// The handshake of the innermost layer is complete: the server's chain, host and pin were verified, except for a
  /// ``TLSSession/refusedChain``.
  func layerIsSecure(_ session: TLSSession)
  /// Takes bytes that have passed through all layers. They are valid during the call.
  func received(_ bytes: UnsafeRawBufferPointer)
  /// Memory into which bytes can be received without a later copy; nil if they have to be passed to ``received(_:)``.
  /// Not used with TLS.
  var bodyMemory: UnsafeMutableRawBufferPointer? { get }
  /// Takes bytes that were received into ``bodyMemory``; there may be none.
  func received(inBodyMemory bytes: UnsafeRawBufferPointer)
  /// The peer sends no more. Called again when the connection fails after a clean end.
  func receivedEnd(_ end: InputEnd)
  /// A layer failed.
  func layerFailed(_ session: TLSSession, _ error: HTTPError)
  /// The socket takes more bytes.
  func becameWritable()
}

extension LayeredSocketHandler {
  // An opening has no memory for bodies, and does not wait for room.
  var bodyMemory: UnsafeMutableRawBufferPointer? { nil }
  func received(inBodyMemory bytes: UnsafeRawBufferPointer) {}
  func becameWritable() {}
}

/// How the bytes of a connection ended.
enum InputEnd: Equatable {
  /// The peer announced the end: over TLS with `close_notify`, otherwise with a FIN.
  case clean
  /// The connection ended within TLS, which an attacker can cause too (RFC 8446 §6.1).
  case cutOff
  /// The connection failed, with an error number.
  case failed(Int32)
}
#endif

#if os(Linux)
import COpenSSL

/// The received bytes of a session: first the copied bytes, then the bytes that the owner lends for the time of a call.
struct ReceivedBytes {
  private var copied = SendBuffer()
  private var lent = UnsafeRawBufferPointer(start: nil, count: 0)

  var count: Int { copied.count + lent.count }

  /// Copies the bytes after the existing ones.
  mutating func append(_ bytes: UnsafeRawBufferPointer) { copied.append(bytes) }

  /// Adds bytes without copying them; ``endLending()`` must follow while they are valid.
  mutating func lend(_ bytes: UnsafeRawBufferPointer) {
    endLending()
    lent = bytes
  }

  /// Copies the unread rest of the lent bytes.
  mutating func endLending() {
    if !lent.isEmpty { copied.append(lent) }
    lent = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Moves bytes from the front to `target`, and returns how many.
  mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
    if !copied.isEmpty {
      let count = copied.withUnsafeBytes { source in
        let count = min(source.count, target.count)
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source.prefix(count)))
        return count
      }
      copied.consume(count)
      return count
    }
    let count = min(lent.count, target.count)
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: lent.prefix(count)))
    lent = UnsafeRawBufferPointer(rebasing: lent.dropFirst(count))
    return count
  }
}

/// OpenSSL's access to the bytes of a ``TLSSession``: it reads the received bytes and writes the bytes to send.
///
/// Unlike OpenSSL's BIO over memory, it neither moves nor allocates for each record.
enum SessionBIO {
  /// Makes a BIO for a session, which must live longer than the BIO; nil without memory.
  static func make(for session: TLSSession) -> OpaquePointer? {
    guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  // SAFETY: the table is complete before it is shared and never changed or freed.
  private struct Method: @unchecked Sendable {
    let pointer: OpaquePointer?
  }

  private static let method = Method(pointer: makeMethod())

  private static func makeMethod() -> OpaquePointer? {
    guard let method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "session") else { return nil }
    BIO_meth_set_read_ex(method) { bio, target, size, count in
      SessionBIO.withSession(of: bio) { session in
        BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        let taken = session.takeReceived(into: UnsafeMutableRawBufferPointer(start: target, count: size))
        count?.pointee = taken
        // The session reports the end of the input: OpenSSL would answer it with an alert.
        if taken == 0 { BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) }
        return taken > 0
      }
    }
    BIO_meth_set_write_ex(method) { bio, bytes, size, count in
      SessionBIO.withSession(of: bio) { session in
        session.outgoing.append(UnsafeRawBufferPointer(start: bytes, count: size))
        count?.pointee = size
        return true
      }
    }
    BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return method
  }

  private static func withSession(of bio: OpaquePointer?, _ body: (TLSSession) -> Bool) -> Int32 {
    guard let bio, let data = BIO_get_data(bio) else { return 0 }
    return Unmanaged<TLSSession>.fromOpaque(data)._withUnsafeGuaranteedRef { body($0) ? 1 : 0 }
  }
}
#endif

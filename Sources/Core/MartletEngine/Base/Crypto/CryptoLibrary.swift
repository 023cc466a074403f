#if os(Linux)
import CCrypto

/// The system's libcrypto in this process.
package enum CryptoLibrary {
  /// Prepares the library with its clean-up at the end of the process switched off, which would free what other threads
  /// still use if the process exits during a transfer.
  ///
  /// The library heeds that only in its first preparation, which any of its functions may begin. So everything in this
  /// package that uses libcrypto, libssl or libcurl calls this before.
  package static func start() { _ = isStarted }

  private static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
#endif

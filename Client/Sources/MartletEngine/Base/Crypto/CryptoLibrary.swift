#if os(Linux)
import CCrypto

/// The system's libcrypto in this process.
package enum CryptoLibrary {
  /// Initializes the library without its clean-up at exit, which would free memory that other threads still use if the
  /// process exits during a transfer.
  ///
  /// The library honours that only in its first initialization, which any of its functions may trigger. So all code in
  /// this package that uses libcrypto or libssl calls this first.
  package static func start() { _ = isStarted }

  private static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
#endif

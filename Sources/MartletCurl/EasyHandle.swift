#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// A libcurl easy handle. Its options are set by one thread before it is submitted; then it belongs to the loop thread,
/// until it is back in the pool.
// SAFETY: one owner at a time, as said above; the pool is behind a Mutex.
final class EasyHandle: @unchecked Sendable {
  let raw: UnsafeMutableRawPointer
  private let errorText: UnsafeMutablePointer<CChar>
  /// The first option that libcurl refused since the last `reset`.
  private(set) var refusedOption: (option: CURLoption, code: CURLcode)?

  init?() {
    guard let raw = curl_easy_init() else { return nil }
    self.raw = raw
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(raw)
    errorText.deallocate()
  }

  /// Forgets every option, so that nothing of one request can reach the next; connections live in the multi handle.
  func reset() {
    curl_easy_reset(raw)
    refusedOption = nil
    errorText[0] = 0
    check(CURLOPT_ERRORBUFFER, martlet_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
  }

  /// Prepares to begin anew, on a connection of its own.
  func startAfresh() {
    errorText[0] = 0
    set(CURLOPT_FRESH_CONNECT, 1)
  }

  /// What libcurl says of the last failure, empty if it says nothing.
  var lastError: String { String(cString: errorText) }

  func set(_ option: CURLoption, _ value: Int) { check(option, martlet_set_long(raw, option, value)) }

  /// Sets what is only about speed, and lives with a refusal: libcurl keeps the buffer of a transfer that ended while
  /// others used its HTTP/2 connection, and then no other size can be set.
  func prefer(_ option: CURLoption, _ value: Int) { _ = martlet_set_long(raw, option, value) }

  func set(_ option: CURLoption, offset value: Int64) { check(option, martlet_set_offset(raw, option, value)) }

  /// libcurl copies the string, so it need not live on.
  func set(_ option: CURLoption, _ value: String) { check(option, martlet_set_string(raw, option, value)) }

  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
    check(option, martlet_set_pointer(raw, option, value))
  }

  func set(_ option: CURLoption, _ value: martlet_transfer_callback?) {
    check(option, martlet_set_callback(raw, option, value))
  }

  func set(_ option: CURLoption, blob: Data) {
    check(option, blob.withUnsafeBytes { martlet_set_blob(raw, option, $0.baseAddress, $0.count) })
  }

  /// Who is asked before a request goes out, each time that it does.
  func setRequest(_ callback: martlet_request_callback?) {
    check(CURLOPT_PREREQFUNCTION, martlet_set_request(raw, callback))
  }

  /// Who is told of libcurl's work, in text, while `CURLOPT_VERBOSE` is set.
  func setDebug(_ callback: martlet_debug_callback?) {
    check(CURLOPT_DEBUGFUNCTION, martlet_set_debug(raw, callback))
  }

  func setSeek(_ callback: martlet_seek_callback?) { check(CURLOPT_SEEKFUNCTION, martlet_set_seek(raw, callback)) }

  /// Who is told of connections' sockets, opened and closed.
  func setSockets(
    opened: martlet_opened_callback?, close: martlet_close_callback?, _ user: UnsafeMutableRawPointer
  ) {
    set(CURLOPT_SOCKOPTDATA, pointer: user)
    check(CURLOPT_SOCKOPTFUNCTION, martlet_set_opened(raw, opened))
    set(CURLOPT_CLOSESOCKETDATA, pointer: user)
    check(CURLOPT_CLOSESOCKETFUNCTION, martlet_set_close(raw, close))
  }

  func long(_ info: CURLINFO) -> Int { martlet_get_long(raw, info) }

  func offset(_ info: CURLINFO) -> Int64 { martlet_get_offset(raw, info) }

  func string(_ info: CURLINFO) -> String? { martlet_get_string(raw, info).map { String(cString: $0) } }

  private func check(_ option: CURLoption, _ code: CURLcode) {
    if code != CURLE_OK, refusedOption == nil { refusedOption = (option, code) }
  }
}
#endif

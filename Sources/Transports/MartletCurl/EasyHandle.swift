#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics
import Synchronization

/// A libcurl easy handle. One thread sets its options before it is submitted; then it belongs to the loop thread until
/// it is returned to the pool.
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

  /// Resets all options, so that nothing of one request is used for the next. Connections belong to the multi handle.
  func reset() {
    curl_easy_reset(raw)
    refusedOption = nil
    errorText[0] = 0
    check(CURLOPT_ERRORBUFFER, martlet_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
  }

  /// Prepares the same request to be sent on a new connection.
  func startAfresh() {
    errorText[0] = 0
    set(CURLOPT_FRESH_CONNECT, 1)
  }

  /// libcurl's message for the last failure; empty if there is none.
  var lastError: String { String(cString: errorText) }

  func set(_ option: CURLoption, _ value: Int) { check(option, martlet_set_long(raw, option, value)) }

  /// Sets an option that only affects speed, and ignores a refusal: libcurl keeps the buffer of a transfer that ended
  /// while others used its HTTP/2 connection, and then refuses another size.
  func prefer(_ option: CURLoption, _ value: Int) { _ = martlet_set_long(raw, option, value) }

  func set(_ option: CURLoption, offset value: Int64) { check(option, martlet_set_offset(raw, option, value)) }

  /// libcurl copies the string.
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

  /// Sets the function that is called each time before the request is sent.
  func setRequest(_ callback: martlet_request_callback?) {
    check(CURLOPT_PREREQFUNCTION, martlet_set_request(raw, callback))
  }

  /// Sets the function that gets libcurl's log while `CURLOPT_VERBOSE` is set.
  func setDebug(_ callback: martlet_debug_callback?) {
    check(CURLOPT_DEBUGFUNCTION, martlet_set_debug(raw, callback))
  }

  func setSeek(_ callback: martlet_seek_callback?) { check(CURLOPT_SEEKFUNCTION, martlet_set_seek(raw, callback)) }

  /// Sets the functions that are called when a connection's socket was opened and when it is to be closed.
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

/// The easy handles that are not in use: making one costs several times as much as resetting one.
///
/// With libcurl before 8.1.0, each transfer gets a new handle, because such a libcurl keeps a pointer to the last
/// header line of a handle's first transfer, which is freed when the second begins; a response whose first field line
/// begins with white space is written to that memory. No option and no reset removes the pointer. Connections do not
/// belong to the handles and are reused all the same.
final class HandlePool: Sendable {
  private let idle = Mutex<[EasyHandle]>([])
  private let reuses: Bool
  private static let capacity = 256

  /// Whether this libcurl may use a handle for more than one transfer.
  static let isReuseSafe = martlet_handles_are_reusable() != 0

  init(reuses: Bool) { self.reuses = reuses }

  func take() throws(HTTPError) -> EasyHandle {
    if let handle = idle.withLock({ $0.popLast() }) { return handle }
    guard let handle = EasyHandle() else {
      throw HTTPError(.other, "libcurl has no memory for another transfer", phase: .preparing)
    }
    return handle
  }

  /// Returns a handle to the pool. Its transfer must not use it afterwards: another thread may use it at once.
  func give(back handle: EasyHandle) {
    guard reuses else { return }
    idle.withLock { idle in
      if idle.count < Self.capacity { idle.append(handle) }
    }
  }
}
#endif

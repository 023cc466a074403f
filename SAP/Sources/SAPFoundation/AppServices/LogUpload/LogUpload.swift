@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Writes log lines to files, and uploads them to Mobile Services. ``SAPcpmsLogUploader`` has the one of the app.
final class LogUpload: LogHandler, Sendable {
  private struct State {
    var level = LogLevel.debug
    var isEnabled = true
    var uploadsInChunks = false
    var isUploading = false
  }

  let files: LogFiles
  private let state = Locked(State())

  init(_ files: LogFiles) { self.files = files }

  var logLevel: LogLevel {
    get { state.withLock { $0.level } }
    set { state.withLock { $0.level = newValue } }
  }

  var isEnabled: Bool {
    get { state.withLock { $0.isEnabled } }
    set { state.withLock { $0.isEnabled = newValue } }
  }

  var uploadsInChunks: Bool {
    get { state.withLock { $0.uploadsInChunks } }
    set { state.withLock { $0.uploadsInChunks = newValue } }
  }

  func publish(_ record: LogRecord) { files.append(LogLine.line(for: record)) }

  func apply(_ settings: SAPcpmsLogSettings) {
    isEnabled = settings.logUploadEnabled
    if let level = settings.level { logLevel = level }
    var limits = LogFiles.Limits()
    limits.days = max(0, settings.entryExpiry)
    if settings.maxFileNum > 0 { limits.fileCount = settings.maxFileNum }
    if settings.maxFileSize > 0 { limits.fileSize = min(settings.maxFileSize, 1 << 20) * 1_048_576 }
    files.limits = limits
    files.removeExpired()
  }

  /// Uploads all lines so far. Lines that are logged in the meantime are kept for the next upload. After a sign-out, no
  /// further part is sent: the session would send it for the next user.
  func upload(to url: URL, with session: SAPURLSession) async throws {
    guard isEnabled else { throw SAPcpmsLogUploaderError.configurationNotEnabled }
    let begun = Beginning.current
    let isFirst = state.withLock { state in
      defer { state.isUploading = true }
      return !state.isUploading
    }
    guard isFirst else { throw SAPcpmsLogUploaderError.uploadAlreadyInProgress }
    defer { state.withLock { $0.isUploading = false } }
    files.complete()
    let all = files.beginUpload()
    defer { files.endUpload() }
    guard !all.isEmpty else { throw SAPcpmsLogUploaderError.missingLogFiles }
    let filled = all.filter { ((try? $0.resourceValues(forKeys: [.fileSizeKey]))?.fileSize ?? 0) > 0 }
    guard !filled.isEmpty else { throw SAPcpmsLogUploaderError.emptyLogFiles }
    for part in uploadsInChunks ? filled.map({ [$0] }) : [filled] {
      do { try session.signOut.check(begun) } catch {
        throw SAPcpmsLogUploaderError.networkError(error: error.taskError, httpStatuscode: nil, response: nil)
      }
      try await upload(part, to: url, with: session)
    }
  }

  private func upload(_ part: [URL], to url: URL, with session: SAPURLSession) async throws {
    let lines: Data
    do { lines = try part.reduce(into: Data()) { $0 += try SpareDescriptors.contents(of: $1) } } catch {
      throw SAPcpmsLogUploaderError.internalError(error: error)
    }
    var request = URLRequest(url: url)
    request.httpMethod = SAPURLSession.HTTPMethod.post
    request.setValue("text/plain;charset=utf-8", forHTTPHeaderField: SAPURLSession.HTTPHeader.contentType)
    let (data, response, task): (Data, URLResponse, SAPURLSessionTask)
    do { (data, response, task) = try await session.answer(to: request, uploading: lines) } catch {
      throw SAPcpmsLogUploaderError.networkError(error: error, httpStatuscode: nil, response: nil)
    }
    let head = response as? HTTPURLResponse
    if let login = head.flatMap({ SAPLoginRequiredError($0) }) { throw login }
    switch head?.statusCode {
    case 204?:
      do { try task.checkConfirmation(response, data) } catch {
        throw SAPcpmsLogUploaderError.networkError(error: error, httpStatuscode: 204, response: nil)
      }
    case 400?: throw SAPcpmsLogUploaderError.damagedLogFiles
    case 403?: throw SAPcpmsLogUploaderError.configurationNotEnabled
    case let status:
      let text = String(decoding: data.prefixOfText(1_000), as: UTF8.self)
      throw SAPcpmsLogUploaderError.networkError(error: nil, httpStatuscode: status, response: text)
    }
    for file in part { try? FileManager.default.removeItem(at: file) }
    // Another process may have removed some of the files.
    guard !part.contains(where: { FileManager.default.fileExists(atPath: $0.path) }) else {
      throw SAPcpmsLogUploaderError.couldNotDeleteLogs
    }
  }
}

/// Keeps the messages of an app's loggers in files, and uploads them to Mobile Services.
///
/// ```swift
/// try SAPcpmsLogUploader.attachToRootLogger()            // as soon as the app has started
/// let session = SAPURLSession()
/// SAPcpmsLogUploader.uploadLogs(sapURLSession: session, settingsParameters: settings) { error in
///   if let error { print("The logs were not uploaded:", error) }
/// }
/// ```
///
/// - Messages go to the files if the loggers' levels and ``logLevel`` allow them. Lines are in the published format:
///   `#Date#Severity#CorrelationId#Source#Location#Message#`. How `#` is escaped is not published: here by `\#`.
/// - By default there are at most ten files of 5 MB, of which the oldest is removed for a new one. (SAP's defaults are
///   not published.) They are in the app's folder, `~/.local/share/APP/SAPFoundation/Logs` on Linux. Only the user may
///   read them.
/// - One upload runs at a time. The uploaded lines are deleted when the server has confirmed them, with status 204.
///   Lines that are logged in the meantime are kept. The limits do not apply to the files of an upload until it ends.
/// - The body of an upload is plain text. All files are one request, or each is one (``uploadLogInChunks``).
///
/// The log of the session itself contains no secrets; what an app logs is its own responsibility.
public final class SAPcpmsLogUploader {
  /// The default of `maxFileSize`, in MB.
  public static let defaultMaxFileSize = 5
  /// The default of `maxFileNum`.
  public static let defaultMaxFileNum = 10
  /// Logs the error, if any, as a warning.
  public static let defaultCompletionHandler: @Sendable ((any Error)?) -> Void = { error in
    if let error { Logger.shared(named: "SAP.Foundation.LogUploader").warn("Logs were not uploaded.", error: error) }
  }

  static let upload = LogUpload(LogFiles(in: try? ProgramFolder.dataFile("Logs")))

  private static var isAttached: Bool { Logger.root.handlers.contains { $0 === upload } }

  private init() {}

  /// Keeps the messages of all loggers from now on. Attaching again does nothing.
  ///
  /// As any handler of the root does, it replaces the output of messages to standard error. Add a
  /// ``ConsoleLogHandler`` to have both.
  ///
  /// - Throws: ``SAPcpmsLogUploaderError/localLogsFolderCreationFailed``.
  public static func attachToRootLogger() throws {
    do { try upload.files.prepare() } catch { throw SAPcpmsLogUploaderError.localLogsFolderCreationFailed }
    Logger.root.add(handler: upload)
  }

  /// Whether logs are uploaded; true by default. If false, an upload fails with
  /// ``SAPcpmsLogUploaderError/configurationNotEnabled``, and sends nothing.
  public static var logUploadEnabled: Bool {
    get { upload.isEnabled }
    set { upload.isEnabled = newValue }
  }

  /// Whether each file is a request of its own; false by default. If a request fails, the files before it are uploaded
  /// and deleted, and the others are kept.
  public static var uploadLogInChunks: Bool {
    get { upload.uploadsInChunks }
    set { upload.uploadsInChunks = newValue }
  }

  /// The lowest level of messages that are kept, in addition to the loggers' levels; `.debug` by default. `.off` keeps
  /// none, and is the value while nothing is attached.
  public static var logLevel: LogLevel {
    get { isAttached ? upload.logLevel : .off }
    set { upload.logLevel = newValue }
  }

  /// The number of days after which lines are deleted without an upload; 0, the default, for never.
  public static var logExpiration: Int {
    get { upload.files.limits.days }
    set { upload.files.limits.days = max(0, newValue) }
  }

  /// Applies the settings that Mobile Services has for the app. A value of 0 means the default.
  public static func apply(sapcpmsLogSettings settings: SAPcpmsLogSettings) { upload.apply(settings) }

  /// Uploads the lines to the app of the settings.
  ///
  /// - Parameters:
  ///   - sapURLSession: sends the request.
  ///   - settingsParameters: the backend, the app, and the device if there is one.
  ///   - completionHandler: gets nil, a ``SAPcpmsLogUploaderError``, or ``SAPLoginRequiredError`` if the server sent a
  ///     login page, on the session's `delegateQueue`.
  public static func uploadLogs(
    sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    uploadLogs(
      sapURLSession: sapURLSession, logUploadURL: url(for: settingsParameters), completionHandler: completionHandler)
  }

  /// Uploads the lines to a URL. (SAP publishes that there is such a form, and not its labels.)
  public static func uploadLogs(
    sapURLSession: SAPURLSession, logUploadURL: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    Task {
      var failure: (any Error)?
      do { try await upload.upload(to: logUploadURL, with: sapURLSession) } catch { failure = error }
      sapURLSession.callbacks.add { [failure] in completionHandler(failure) }
    }
  }

  /// Uploads the lines to the app of the settings.
  ///
  /// - Throws: ``SAPcpmsLogUploaderError``, or ``SAPLoginRequiredError`` if the server sent a login page.
  public static func uploadLogs(
    sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters
  ) async throws {
    try await upload.upload(to: url(for: settingsParameters), with: sapURLSession)
  }

  static func url(for settings: SAPcpmsSettingsParameters) -> URL {
    let app = settings.applicationSegment
    return settings.hostURL(
      "/mobileservices/application/\(app)/clientlogs/v1/runtime/log/application/\(app)",
      query: settings.deviceSegment.map { "deviceId=\($0)" })
  }
}

/// The settings of Mobile Services for the logs of an app.
public struct SAPcpmsLogSettings: Sendable, Hashable {
  /// Whether logs are uploaded.
  public let logUploadEnabled: Bool
  /// The number of days after which lines are deleted without an upload; 0 for never.
  public let entryExpiry: Int
  /// The lowest level of the lines that are kept, such as `WARN`; `NONE` for none.
  public let logLevel: String
  /// The maximum number of files; 0 for the default.
  public let maxFileNum: Int
  /// The maximum size of a file in MB; 0 for the default.
  public let maxFileSize: Int

  /// Makes settings.
  public init(
    logUploadEnabled: Bool = true, entryExpiry: Int = 0, logLevel: String, maxFileNum: Int = 0, maxFileSize: Int = 5
  ) {
    self.logUploadEnabled = logUploadEnabled
    self.entryExpiry = entryExpiry
    self.logLevel = logLevel
    self.maxFileNum = maxFileNum
    self.maxFileSize = maxFileSize
  }

  /// The level as the loggers have it; nil for an unknown text.
  var level: LogLevel? {
    switch logLevel.uppercased() {
    case "ALL", "PATH": .trace
    case "DEBUG": .debug
    case "INFO": .info
    case "WARN", "WARNING": .warning
    case "ERROR": .error
    case "FATAL": .critical
    case "NONE", "OFF": .off
    default: nil
    }
  }
}

/// The error of an upload of logs.
public enum SAPcpmsLogUploaderError: SAPError, Sendable {
  /// There are no lines to upload, because none were logged since the last upload.
  case missingLogFiles
  /// The server does not understand the lines (status 400). They are kept.
  case damagedLogFiles
  /// There are files, which have no lines.
  case emptyLogFiles
  /// The request failed: with the session's error, with another status than 204, or with 204 of another server.
  case networkError(error: (any Error)?, httpStatuscode: Int?, response: String?)
  /// Another upload is running.
  case uploadAlreadyInProgress
  /// The lines were uploaded, and their files could not be deleted. They will be uploaded again.
  case couldNotDeleteLogs
  /// The files cannot be read.
  case internalError(error: (any Error)?)
  /// Uploads are switched off, here (``SAPcpmsLogUploader/logUploadEnabled``) or for the app (status 403).
  case configurationNotEnabled
  /// The folder of the files cannot be made.
  case localLogsFolderCreationFailed

  /// The problem, and the remedy if there is one.
  public var description: String {
    switch self {
    case .missingLogFiles: "There are no log lines to upload."
    case .damagedLogFiles: "The server does not understand the log lines."
    case .emptyLogFiles: "The log files are empty."
    case .networkError(let error, let status, _):
      "The logs were not uploaded\(status.map { " (status \($0))" } ?? "")\(error.map { ": \($0.localizedDescription)" } ?? ".")"
    case .uploadAlreadyInProgress: "The logs are already being uploaded."
    case .couldNotDeleteLogs: "The uploaded log files could not be deleted."
    case .internalError(let error): "The log files cannot be read\(error.map { ": \($0)" } ?? ".")"
    case .configurationNotEnabled: "Log upload is not enabled: enable it for the app in Mobile Services."
    case .localLogsFolderCreationFailed:
      "The folder for log files cannot be made: set XDG_DATA_HOME or HOME to the absolute path of a writable folder."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

extension SAPcpmsLogUploaderError: CustomReflectable {
  /// A mirror with the description only: the response may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}

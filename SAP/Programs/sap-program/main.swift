@_spi(Stores) import SAPFoundation

// A program with a SAPURLSession, for tests that need a separate process. The session has the default configuration, or
// an empty dictionary of proxies, or a cache in a folder. It is made when a command first needs it. The program ends
// directly after the last command.
//
//     sap-program default|ephemeral|direct|FOLDER COMMAND...
//     sap-program logs MESSAGE [SERVICE]     logs a message, and uploads all messages to Mobile Services
//     sap-program full-logs FOLDER           writes lines to the folder, while no file can grow, and afterwards
//     sap-program secure FILE PASSCODE NAME N  opens a secure store, puts N values, and prints their keys
//
//     URL                 requests it, and prints status and text, or the code of the error
//     clear               calls the documented lines that clear the session's configuration
//     clear-shared        calls the lines that generated apps have for a sign-out
//     sign-out            calls clearCredentials()
//     set-cookie=N=V@HOST stores a permanent cookie in HTTPCookieStorage.shared
//     delete-cookie=N     deletes it there
//     cookies             prints the session's cookies
//     password=USER:PASS  answers later challenges with a permanent credential
//     log                 prints later warnings and errors, each after it has used another session
let arguments = CommandLine.arguments.dropFirst()
guard let kind = arguments.first else { exit(2) }

if kind == "logs" {
  try SAPcpmsLogUploader.attachToRootLogger()
  print("attached")
  Logger.root.error(arguments.dropFirst().first ?? "")
  if let service = arguments.dropFirst(2).first.flatMap({ URL(string: $0) }) {
    let parameters = SAPcpmsSettingsParameters(backendURL: service, applicationID: "app")
    try await SAPcpmsLogUploader.uploadLogs(sapURLSession: SAPURLSession(), settingsParameters: parameters)
    print("uploaded")
  }
  exit(0)
}

if kind == "full-logs" {
  let files = LogFiles(in: URL(filePath: arguments.dropFirst().first ?? ""))
  try files.prepare()
  files.limits = .init(fileSize: 100, fileCount: 3)
  for number in 1...25 { files.append("before \(number)\n") }
  limitFiles(to: 0)
  for number in 1...900 { files.append("lost \(number)\n") }
  files.complete()
  files.append("lost, too\n")
  limitFiles(to: .max)
  files.append("after\n")
  exit(0)
}

if kind == "secure" {
  let words = Array(arguments.dropFirst())
  guard words.count == 4, let count = Int(words[3]) else { exit(2) }
  let store = SecureKeyValueStore(databaseFileName: words[0])
  do { try store.open(with: words[1]) } catch {
    print("failed:", error)
    exit(1)
  }
  for key in (0..<count).map({ "\(words[2])-\($0)" }) {
    try store.put(key, forKey: key)
    print("put", key)
  }
  exit(0)
}

/// Sets the maximum size of the files of this process, like a full disk.
func limitFiles(to size: rlim_t) {
  #if os(Linux)
  let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
  let fileSize = RLIMIT_FSIZE
  #endif
  signal(SIGXFSZ, SIG_IGN)
  var limit = rlimit()
  getrlimit(fileSize, &limit)
  limit.rlim_cur = min(size, limit.rlim_max)
  setrlimit(fileSize, &limit)
}

/// Answers challenges with the credential that was named, otherwise as the session does.
final class Delegate: SAPURLSessionDelegate {
  let credential = Shared<URLCredential?>(nil)

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    completionHandler(credential.value.map { .use($0) } ?? .performDefaultHandling)
  }
}

/// A value that callbacks on other threads use.
final class Shared<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var current: Value

  init(_ value: Value) { current = value }

  var value: Value {
    get { lock.withLock { current } }
    set { lock.withLock { current = newValue } }
  }
}

/// Prints warnings and errors. It first uses a new session of the default configuration, like a sink that sends them.
struct SessionSink: LogSink {
  func write(_ line: String, at level: LogLevel) {
    let cookies = SAPURLSession().configuration.httpCookieStorage?.cookies?.count ?? 0
    print("\(cookies) cookies:", line)
  }

  func isEnabled(_ level: LogLevel) -> Bool { level >= .warning }
}

let delegate = Delegate()

@MainActor func makeSession() -> SAPURLSession {
  let configuration: URLSessionConfiguration = ["ephemeral", "direct"].contains(kind) ? .ephemeral : .default
  if kind == "direct" {
    configuration.connectionProxyDictionary = [:]
    configuration.waitsForConnectivity = false
    configuration.httpCookieStorage = SAPHTTPCookieStorage()
  } else if !["default", "ephemeral"].contains(kind) {
    configuration.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 10 << 20, directory: URL(filePath: kind))
  }
  return SAPURLSession(configuration: configuration, delegate: delegate)
}

func request(_ url: URL, in session: SAPURLSession) {
  let isOver = DispatchSemaphore(value: 0)
  session.dataTask(with: url) { data, response, error in
    let text = data.map { String(decoding: $0, as: UTF8.self) }
    print(
      (response as? HTTPURLResponse)?.statusCode ?? 0, text ?? (error as? URLError).map { "\($0.code.rawValue)" } ?? "")
    isOver.signal()
  }.resume()
  isOver.wait()
}

func setCookie(_ text: String) {
  let parts = text.split(whereSeparator: { "=@".contains($0) }).map(String.init)
  let cookie = HTTPCookie(properties: [
    .name: parts[0], .value: parts[1], .domain: parts[2], .path: "/", .expires: Date(timeIntervalSinceNow: 3600),
  ])
  if let cookie { HTTPCookieStorage.shared.setCookie(cookie) }
}

var made: SAPURLSession?
for argument in arguments.dropFirst() {
  let (command, value) = {
    let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
    return argument.contains("://") ? (argument, "") : (parts[0], parts.count > 1 ? parts[1] : "")
  }()
  let sessionNeeded = !["clear-shared", "set-cookie", "delete-cookie", "log"].contains(command)
  if sessionNeeded, made == nil { made = makeSession() }
  switch command {
  case "clear":
    made?.configuration.urlCache?.removeAllCachedResponses()
    made?.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
  case "clear-shared":
    URLCache.shared.removeAllCachedResponses()
    HTTPCookieStorage.shared.removeCookies(since: .distantPast)
  case "sign-out": made?.clearCredentials()
  case "log": SAPURLSession.logSink = SessionSink()
  case "set-cookie": setCookie(value)
  case "delete-cookie":
    for cookie in HTTPCookieStorage.shared.cookies ?? [] where cookie.name == value {
      HTTPCookieStorage.shared.deleteCookie(cookie)
    }
  case "cookies":
    print(made?.configuration.httpCookieStorage?.cookies?.map { "\($0.name)=\($0.value)" }.joined(separator: " ") ?? "")
  case "password":
    let parts = value.split(separator: ":").map(String.init)
    delegate.credential.value = URLCredential(user: parts[0], password: parts[1], persistence: .permanent)
  default:
    guard let url = URL(string: argument), let made else { exit(2) }
    request(url, in: made)
  }
}

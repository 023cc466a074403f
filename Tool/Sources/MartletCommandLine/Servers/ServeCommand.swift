import MartletEngine
@_spi(Toolkit) import MartletInspector
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletTesting

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Serves a folder on this machine: `martlet serve`.
struct ServeCommand {
  private let environment: ToolEnvironment
  private let server: LocalServer
  private let responder: FolderResponder
  private let inspects: Bool

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    guard let path = arguments.words.first, arguments.words.count == 1 else {
      throw UsageError("name one folder: martlet serve public")
    }
    var status = stat()
    let folder = environment.file(path)
    guard stat(folder.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw UsageError("there is no folder '\(path)'")
    }
    self.environment = environment
    server = try LocalServer(arguments)
    inspects = arguments.has(.inspect)
    var rules: [FaultRule] = []
    for option in FaultRule.options {
      for text in arguments.all(option) { rules.append(try FaultRule(option, text)) }
    }
    responder = FolderResponder(folder, rules)
  }

  func run() async throws -> ExitCode {
    let inspector = inspects ? try Inspector.announced(by: environment) : nil
    defer { inspector?.close() }
    // A body that is sent to a folder is read and dropped. The inspector shows its beginning.
    let server = try server.start(bodies: .streamed, environment) { [responder] request in
      guard let served = inspector?.begin(request.received) else { return responder.reply(to: request) }
      while let chunk = try request.nextChunk() { served.receive(chunk) }
      let reply = responder.reply(to: request)
      served.end(reply)
      return reply
    }
    defer { server.stop() }
    try environment.output.write("\(server.url)/ serves \(responder.folder.path)\n")
    try await LocalServer.untilInterrupted()
    return .success
  }
}

/// Answers requests with a folder's files, its listings, and faults.
struct FolderResponder: Sendable {
  let folder: URL
  private let files: StaticFolder
  private let rules: [FaultRule]

  init(_ folder: URL, _ rules: [FaultRule]) {
    self.folder = folder
    self.rules = rules
    var files = StaticFolder(folder)
    files.maxAge = nil  // so that clients request a changed file again
    self.files = files
  }

  func reply(to request: LoopbackRequest) -> Reply {
    // Of two delays, the last counts: the more specific one of the request.
    let faults = rules.filter { $0.matches(request.path) }.map(\.fault) + FaultRule.asked(in: request.query)
    // A status replaces the reply, so it comes first.
    let ordered = faults.filter(\.isStatus) + faults.filter { !$0.isStatus }
    return ordered.reduce(content(for: request)) { $0.with($1) }
  }

  /// Whether a name in the path begins with a dot: such files contain passwords and histories, and are not listed
  /// either.
  private static func isHidden(_ path: String) -> Bool {
    path.utf8.split(separator: UInt8(ascii: "/")).contains { name in
      PercentEncoding.pathSegment.decode(Substring(name)).utf8.first == UInt8(ascii: ".")
    }
  }

  private func content(for request: LoopbackRequest) -> Reply {
    guard !Self.isHidden(request.path) else { return .text("no such file\n", status: .notFound) }
    let reply = files.reply(to: request)
    guard reply.status == .notFound, let folder = files.folder(at: request.path) else { return reply }
    guard request.path.hasSuffix("/") else {
      return .redirect(to: request.path + "/", status: .movedPermanently)
    }
    return FolderList.reply(for: folder, at: request.path)
  }
}

extension FaultRule.Fault {
  fileprivate var isStatus: Bool { if case .status = self { true } else { false } }
}

/// The page that lists a folder.
private enum FolderList {
  static func reply(for folder: URL, at path: String) -> Reply {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let rows = names.filter { !$0.hasPrefix(".") }.sorted().map { row($0, in: folder) }
    let title = TimelinePage.escaped(PercentEncoding.pathSegment.decode(path))
    let parent = path == "/" ? "" : "<li><a href=\"../\">..</a>\n"
    let page = """
      <!DOCTYPE html>
      <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(title)</title>
      <style>:root { color-scheme: light dark } body { font: 16px/1.6 system-ui, sans-serif; margin: 2rem }</style>
      <h1>\(title)</h1>
      <ul>
      \(parent)\(rows.joined(separator: "\n"))
      </ul>

      """
    return Reply(fields: [.contentType: "text/html; charset=utf-8"], content: Data(page.utf8))
  }

  private static func row(_ name: String, in folder: URL) -> String {
    var status = stat()
    let isKnown = stat(folder.appending(component: name).path, &status) == 0
    let isFolder = isKnown && status.st_mode & S_IFMT == S_IFDIR
    let size = isKnown && !isFolder ? " – \(Quantity.text(Int64(status.st_size)))" : ""
    // "./" keeps a colon in a name from ending a scheme.
    let link = "./" + PercentEncoding.pathSegment.encode(name) + (isFolder ? "/" : "")
    return
      "<li><a href=\"\(TimelinePage.escaped(link))\">\(TimelinePage.escaped(name))\(isFolder ? "/" : "")</a>\(size)"
  }
}

import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Makes the request of a command line from its items and the options for the body.
struct RequestComposition {
  private let arguments: ParsedArguments
  private let items: [RequestItem]
  /// Reads a file that the command line names; standard input for `-`.
  private let files: InputFiles

  init(_ arguments: ParsedArguments, files: InputFiles) throws(UsageError) {
    self.arguments = arguments
    self.files = files
    var items: [RequestItem] = []
    for word in arguments.words.dropFirst() { items.append(try RequestItem.parse(word)) }
    self.items = items
    try checkModes()
  }

  private func checkModes() throws(UsageError) {
    let modes = [OptionName.json, .form, .multipart].filter(arguments.has)
    if modes.count > 1 {
      throw UsageError("--\(modes[0].rawValue) and --\(modes[1].rawValue) cannot be combined: leave one out")
    }
    let wholes = items.filter { if case .body = $0 { true } else { false } }
    if wholes.count > 1 || (!wholes.isEmpty && items.filter(\.isBody).count > wholes.count) {
      throw UsageError("the body is either one @file or fields: leave the others out")
    }
    if arguments.has(.raw), arguments.has(.multipart) {
      throw UsageError("--raw is not multipart/form-data: leave one out")
    }
    for whole in [OptionName.raw, .uploadFile] where arguments.has(whole) && items.contains(where: \.isBody) {
      throw UsageError("the body is either --\(whole.rawValue) or items: leave one of them out")
    }
    if arguments.has(.raw), arguments.has(.uploadFile) {
      throw UsageError("the body is either --raw or --upload-file: leave one of them out")
    }
  }

  /// Returns the request.
  func request() throws -> HTTPRequest {
    guard let word = arguments.words.first else {
      throw UsageError("there is no URL: martlet \(arguments.command.rawValue) example.com/orders")
    }
    let url = named(
      try TargetURL.parse(
        word, opensWebSocket: arguments.command == .ws, defaultScheme: arguments.value(.defaultScheme)))
    let body = try makeBody()
    let method = arguments.method ?? (arguments.has(.uploadFile) ? "PUT" : body == nil ? "GET" : "POST")
    guard let method = HTTPMethod(rawValue: method) else { throw UsageError("'\(method)' is not a method of HTTP") }
    var request = HTTPRequest(method, url, query: try query(), body: body ?? .empty)
    if body == nil { request.fields[.contentType] = typeWithoutBody }
    request.fields[.accept] = isJSON(body) ? "application/json, */*;q=0.5" : "*/*"
    request.fields[.userAgent] = "\(Catalogue.program)/\(Catalogue.version)"
    // As curl: the file is the server's, whose name would be wrong for a decoded one.
    if arguments.has(.remoteName) || arguments.has(.download) { request.fields[.acceptEncoding] = "identity" }
    try setFields(of: &request)
    return request
  }

  /// The URL with the name of the file of `--upload-file`, if the URL ends with a slash.
  private func named(_ url: URL) -> URL {
    guard let file = arguments.value(.uploadFile), file != "-", url.path(percentEncoded: true).hasSuffix("/") else {
      return url
    }
    return url.appending(component: files.url(file).lastPathComponent)
  }

  private func query() throws -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for case .query(let name, let source) in items { pairs.append((name, try files.text(source))) }
    return pairs
  }

  private func setFields(of request: inout HTTPRequest) throws {
    var isFirst: Set<FieldName> = []
    for item in items {
      switch item {
      case .field(let name, let source):
        let name = try Self.fieldName(name)
        var value = try files.text(source)
        while value.hasSuffix("\n") || value.hasSuffix("\r\n") { value.removeLast() }
        // An item replaces a default, and is added to another item.
        if isFirst.insert(name).inserted {
          request.fields[name] = value
        } else {
          request.fields.append(value, for: name)
        }
        if request.fields.refusal != nil {
          throw UsageError("the value of \(name) has a control character, such as a line break, and cannot be sent")
        }
      case .removedField(let name):
        try Self.leaveOut(try Self.fieldName(name), of: &request)
      case .emptyField(let name): request.fields[try Self.fieldName(name)] = ""
      default: break
      }
    }
  }

  /// Leaves a field out, wherever it would come from.
  private static func leaveOut(_ name: FieldName, of request: inout HTTPRequest) throws(UsageError) {
    request.fields.remove(name)
    request.options.omittedFields.insert(name)
    if request.body.fields.contains(name) { request.body.fields.remove(name) }
    switch name {
    case .cookie: request.options.handlesCookies = false
    case .authorization: request.options.usesCredentials = false
    case .host, .contentLength, .transferEncoding:
      throw UsageError("\(name) cannot be left out: HTTP needs it, and '\(name):value' or --chunked changes it")
    default: break
    }
  }

  private static func fieldName(_ text: String) throws(UsageError) -> FieldName {
    do { return try FieldName(text) } catch {
      throw UsageError("'\(text)' is not a field name: use letters, digits and -, such as X-Trace")
    }
  }

  private func isJSON(_ body: RequestBody?) -> Bool {
    asksForJSON || body?.fields[.contentType].flatMap { MediaType($0) }?.isJSON == true
  }
}

// The body.
extension RequestComposition {
  private func makeBody() throws -> RequestBody? {
    if let raw = arguments.value(.raw) { return typed(.data(Data(raw.utf8)), typeOfText) }
    for case .body(let path) in items { return try whole(path) }
    if let path = arguments.value(.uploadFile) { return try whole(path) }
    let hasFile = items.contains { if case .file = $0 { true } else { false } }
    if items.contains(where: \.isBody) {
      if arguments.has(.multipart) || (hasFile && arguments.has(.form)) { return try multipart() }
      if hasFile { throw UsageError("a file is sent in a form: add --form, or use name=@file for its text") }
      return arguments.has(.form) ? try form() : try json()
    }
    let mayRead = ["POST", "PUT", "PATCH"].contains(arguments.method) && !arguments.has(.ignoreStandardInput)
    guard mayRead, files.hasStandardInput else { return nil }
    return typed(try files.standardInput(), typeOfText)
  }

  /// A file, or standard input, as the body.
  private func whole(_ path: String) throws(UsageError) -> RequestBody {
    if path == "-" { return typed(try files.standardInput(), "application/octet-stream") }
    try files.check(path)
    return typed(try files.body(path), MediaType.ofFile(named: path).description)
  }

  /// The type of a body that the command line or standard input has as text. As in HTTPie, the text does not decide.
  private var typeOfText: String { arguments.has(.form) ? "\(MediaType.form)" : "application/json" }

  /// The type that a request has without a body: servers that accept only one type check it there too.
  private var typeWithoutBody: String? { asksForJSON || arguments.has(.form) ? typeOfText : nil }

  /// For a WebSocket `--json` says how messages are shown.
  private var asksForJSON: Bool { arguments.has(.json) && arguments.command != .ws }

  private func typed(_ body: RequestBody, _ type: String) -> RequestBody {
    var body = body
    body.fields[.contentType] = type
    return body
  }

  private func form() throws -> RequestBody {
    var pairs: [(name: String, value: String)] = []
    for item in items {
      switch item {
      case .text(let name, let source), .json(let name, let source):
        pairs.append((RequestItem.plain(name), try files.text(source)))
      default: break
      }
    }
    return .form(pairs)
  }

  private func multipart() throws -> RequestBody {
    var form = MultipartForm()
    form.boundary = arguments.value(.boundary)
    for item in items {
      switch item {
      case .text(let name, let source), .json(let name, let source):
        form.append(try files.text(source), for: RequestItem.plain(name))
      case .file(let name, let path, let type):
        try files.check(path)
        form.append(
          try files.body(path), for: name, fileName: files.url(path).lastPathComponent,
          contentType: type.flatMap { MediaType($0) })
      default: break
      }
    }
    return .multipart(form)
  }

  private func json() throws -> RequestBody {
    var body = JSONBody()
    for item in items {
      switch item {
      case .text(let name, let source):
        try body.set(JSONSyntax.quoted(try files.text(source)), at: BodyPath(name))
      case .json(let name, let source):
        let text = try files.text(source)
        if let fault = JSONSyntax.fault(in: text.utf8) {
          throw UsageError("the value of '\(name)' is not JSON (\(fault)): '\(name)=…' sends it as text")
        }
        try body.set(text, at: BodyPath(name))
      default: break
      }
    }
    return typed(.data(Data(body.text.utf8)), "application/json")
  }
}

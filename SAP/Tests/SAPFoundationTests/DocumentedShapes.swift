import Foundation
import MartletCombine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SAPURLSession.HTTPHeader {
  fileprivate static let xToken = "X-Token"
}

/// Every call shape of the documentation, in its own form. (The semantics are imported for the server.)
@Suite("Documented shapes", .timeLimit(.minutes(5)))
struct DocumentedShapes {
  /// A class of an app that conforms to everything at once, as in the documentation's samples.
  private final class App: SAPURLSessionDelegate, SAPURLSessionObserving {
    let created = Mutex(0)

    func make(_ c: URLSessionConfiguration, _ queue: OperationQueue) -> [SAPURLSession] {
      [
        SAPURLSession(), SAPURLSession(delegate: self), SAPURLSession(configuration: c),
        SAPURLSession(configuration: c, delegate: self, delegateQueue: queue),
      ]
    }

    // without `@Sendable`, as in existing code
    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping (SAPURLSession.RequestDisposition) -> Void
    ) {
      var updatedRequest = request
      updatedRequest.addValue("abc", forHTTPHeaderField: SAPURLSession.HTTPHeader.xToken)
      completionHandler(.allow(updatedRequest))
    }

    func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {
      created.withLock { $0 += 1 }
    }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
    ) {
      guard challenge.previousFailureCount == 0 else { return completionHandler(.performDefaultHandling) }
      let credential = URLCredential(user: "anna", password: "secret", persistence: .none)
      completionHandler(.use(credential))
    }
  }

  @Test func sessions() {
    let app = App()
    let sessions = app.make(.default, OperationQueue())

    #expect(sessions.map { $0.delegate != nil } == [false, true, false, true])
    #expect(sessions.allSatisfy { $0.isValid })
    for session in sessions { session.invalidateAndCancel() }
  }

  @Test func shortRequestAndBatches() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Token"] ?? "none") }
    let (url, request) = (server.url("/"), URLRequest(url: server.url("/")))
    let session = SAPURLSession(configuration: .ephemeral)
    let app = App()
    session.register(app)
    let (short, whole) = (Gate(), Gate())

    let task = session.dataTask(with: url) { data, response, error in
      #expect(data == Data("abc".utf8))
      #expect(response != nil && error == nil)
      short.open()
    }
    task.resume()
    let batches = session.dataTask(
      with: request, receivedResponseHandler: { response in #expect(response.url == url) },
      receivedDataHandler: { data in #expect(data == Data("abc".utf8)) }
    ) { error in
      #expect(error == nil)
      whole.open()
    }
    batches.resume()

    try await short.wait()
    try await whole.wait()
    #expect(app.created.withLock { $0 } == 2)
    #expect(session.observers.first === app)
  }

  @Test func streamedUpload() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("upload.txt").path
    try Data("content".utf8).write(to: folder.file("upload.txt"))
    let server = try LoopbackServer { .text($0.text) }
    let session = SAPURLSession(configuration: .ephemeral)
    var request = URLRequest(url: server.url("/"))
    request.httpMethod = SAPURLSession.HTTPMethod.put
    request.setValue(
      SAPURLSession.HTTPContentType.applicationJSON, forHTTPHeaderField: SAPURLSession.HTTPHeader.contentType)
    let end = Gate()

    session.uploadTask(withStreamedRequest: request, needNewBodyStream: { InputStream(fileAtPath: path) }) {
      data, response, error in
      #expect(data == Data("content".utf8))
      #expect(response != nil && error == nil)
      end.open()
    }.resume()

    try await end.wait()
    #expect(server.requests.first?.method == "PUT")
  }

  private enum ShapeError: Error { case any(any Error) }

  @Test func publishers() async throws {
    let server = try LoopbackServer { $0.path == "/missing" ? .status(404) : .text("hello") }
    let session = SAPURLSession(configuration: .ephemeral)
    let (url, missing) = (server.url("/"), URLRequest(url: server.url("/missing")))
    let texts = Shared<[String]>([])
    let logged = Atomic(0)
    let end = Gate()

    func text(_ publisher: SAPURLSession.DataTaskPublisher) -> AnyPublisher<String, Never> {
      publisher
        .tryMap { data, response -> String in
          guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
          return String(decoding: data, as: UTF8.self)
        }
        .mapError { ShapeError.any($0) }
        .handleEvents(receiveCompletion: { completion in
          if case .failure = completion { logged.add(1, ordering: .relaxed) }
        })
        .replaceError(with: "placeholder")
        .eraseToAnyPublisher()
    }
    let one = text(session.dataTaskPublisher(for: url)).sink { value in texts.change { $0.append(value) } }
    let two = text(session.dataTaskPublisher(for: missing)).sink { _ in
      end.open()
    } receiveValue: { value in
      texts.change { $0.append(value) }
    }
    defer {
      one.cancel()
      two.cancel()
    }

    try await end.wait()
    await texts.wait { $0.count == 2 }
    #expect(texts.value.sorted() == ["hello", "placeholder"])
    #expect(logged.load(ordering: .relaxed) == 1)
  }

  @Test func observersThatAreBuiltIn() throws {
    let url = try #require(URL(string: "https://mobile.example.com/"))
    let session = SAPURLSession()
    let observers: [any SAPURLSessionObserving] = [
      SAPcpmsObserver(applicationID: "com.example.app", deviceID: "device", applicationVersion: "1.0"),
      CSRFTokenObserver(rootUrl: url), CorrelationObserver(), LanguageObserver(), LanguageObserver(language: "de"),
      NetworkActivityIndicatorObserver(), SAPcpmsUserBlockedObserver { error in _ = error },
    ]
    for observer in observers { session.register(observer) }

    #expect(session.observers.count == observers.count)
  }

  @Test func cookies() async throws {
    let server = try LoopbackServer { request in
      request.path == "/set" ? .text("set").with(.setCookie, "a=1") : .text(request.fields[.cookie] ?? "none")
    }
    let sapCookieStorage = SAPHTTPCookieStorage()
    let c = URLSessionConfiguration.default
    c.httpCookieStorage = sapCookieStorage
    let session = SAPURLSession(configuration: c)

    _ = await session.outcome(of: server.url("/set"))
    #expect(await session.outcome(of: server.url("/1")).text == "a=1")
    session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    #expect(await session.outcome(of: server.url("/2")).text == "none")
  }

  @Test func clearingTheCache() async throws {
    let server = try LoopbackServer { _ in .text("hello").with(.cacheControl, "max-age=60") }
    let session = SAPURLSession()
    for _ in 0..<2 { _ = await session.outcome(of: server.url("/")) }
    #expect(server.requests.count == 1)

    session.configuration.urlCache?.removeAllCachedResponses()

    _ = await session.outcome(of: server.url("/"))
    #expect(server.requests.count == 2)
  }

  @Test func gatewayErrors() throws {
    let data = Data(#"{"error":{"code":"X/1","message":{"lang":"en","value":"Not there."}}}"#.utf8)

    let payload = try JSONDecoder().decode(ODataErrorPayload.self, from: data)

    #expect(payload.error.code == "X/1")
  }
}

// MARK: - The article's own extension

private struct Image: Sendable, Equatable {
  let bytes: Data
  init?(data: Data) {
    guard !data.isEmpty else { return nil }
    bytes = data
  }
}

extension SAPURLSession {
  fileprivate enum ArticleError: Error {
    case requestFailed(URLError)
    case redirection(HTTPURLResponse)
    case client(response: HTTPURLResponse, payload: ODataErrorPayload?)
    case server(HTTPURLResponse)
    case unknown

    init(_ error: any Error) {
      switch error {
      case let error as URLError: self = .requestFailed(error)
      case let error as ArticleError: self = error
      default: self = .unknown
      }
    }
  }

  fileprivate func getImage(for url: URL) -> AnyPublisher<Image, ArticleError> {
    dataTaskPublisher(for: url)
      .tryMap { data, response -> Image in
        guard let response = response as? HTTPURLResponse else { throw ArticleError.unknown }
        switch response.statusCode {
        case 200..<300:
          guard let image = Image(data: data) else { throw ArticleError.unknown }
          return image
        case 300..<400: throw ArticleError.redirection(response)
        case 400..<500:
          let payload = try? JSONDecoder().decode(ODataErrorPayload.self, from: data)
          throw ArticleError.client(response: response, payload: payload)
        case 500..<600: throw ArticleError.server(response)
        default: throw ArticleError.unknown
        }
      }
      .mapError { ArticleError($0) }
      .eraseToAnyPublisher()
  }
}

extension DocumentedShapes {
  @Test(arguments: ["/image", "/missing", "/broken", "/gone"]) func imageDownload(path: String) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/image": .data(Data([1, 2, 3]), type: "image/png")
      case "/missing": .json(#"{"error":{"code":"X/2","message":{"lang":"en","value":"Not there."}}}"#, status: 404)
      default: .status(503)
      }
    }
    let stopped = try LoopbackServer { _ in .text("hello") }
    stopped.stop()
    defer { withExtendedLifetime(stopped) {} }  // its port stays its own
    let url = path == "/gone" ? stopped.url("/") : server.url(path)
    let result = Mutex<Result<Image, SAPURLSession.ArticleError>?>(nil)
    let end = Gate()
    let watching = SAPURLSession(configuration: SAPURLSession.plain).getImage(for: url).sink { completion in
      if case .failure(let error) = completion { result.withLock { $0 = .failure(error) } }
      end.open()
    } receiveValue: { image in
      result.withLock { $0 = .success(image) }
    }
    defer { watching.cancel() }
    try await end.wait()

    switch try #require(result.withLock { $0 }) {
    case .success(let image): #expect(path == "/image" && image.bytes == Data([1, 2, 3]))
    case .failure(.client(let response, let payload)):
      #expect(path == "/missing" && response.statusCode == 404 && payload?.error.code == "X/2")
    case .failure(.server(let response)): #expect(path == "/broken" && response.statusCode == 503)
    case .failure(.requestFailed(let error)): #expect(path == "/gone" && error.code == .cannotConnectToHost)
    case .failure(let error): Issue.record("\(error)")
    }
  }
}

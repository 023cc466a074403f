import Foundation
import MartletCombine
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A substitute for an image: it recognizes a JPEG by its first bytes.
private struct Picture: Equatable, Sendable {
  struct Undecodable: Error {}
  let size: Int

  static let placeholder = Picture(size: -1)

  init(size: Int) { self.size = size }

  init(_ data: Data) throws {
    guard data.starts(with: [0xFF, 0xD8, 0xFF]) else { throw Undecodable() }
    size = data.count
  }
}

/// The article's extension, in an app's form.
extension SAPURLSession {
  fileprivate func getImage<Image>(
    for url: URL, decode: @escaping @Sendable (Data) throws -> Image
  ) -> AnyPublisher<Image, SAPURLError> {
    getImage(for: URLRequest(url: url), decode: decode)
  }

  fileprivate func getImage<Image>(
    for request: URLRequest, decode: @escaping @Sendable (Data) throws -> Image
  ) -> AnyPublisher<Image, SAPURLError> {
    dataTaskPublisher(for: request)
      .tryMap { data, response in try decode(SAPURLError.checked(data, response)) }
      .mapError { SAPURLError($0) }
      .eraseToAnyPublisher()
  }
}

extension Publisher {
  /// The result of a publisher of one value.
  fileprivate func end() async -> Result<Output?, Failure> where Output: Sendable, Failure: Sendable {
    let result = Shared<Output?>(nil)
    let keeper = Shared<AnyCancellable?>(nil)
    return await withCheckedContinuation { continuation in
      let subscription = sink { completion in
        switch completion {
        case .finished: continuation.resume(returning: .success(result.value))
        case .failure(let error): continuation.resume(returning: .failure(error))
        }
      } receiveValue: { value in
        result.change { $0 = value }
      }
      keeper.change { $0 = subscription }
    }
  }
}

private let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE0] + Array(repeating: 7, count: 996))

@Suite("An image by publisher", .timeLimit(.minutes(5)))
struct ImageArticleTests {
  private let service: MobileServices
  private let url: URL
  private let session = SAPURLSession(configuration: .ephemeral)

  init() throws {
    service = try MobileServices(.init(media: ["coffee": Media(jpeg)]))
    url = service.url("/backend").odataMedia("Images", "coffee")
  }

  private func error(of path: String) async -> SAPURLError? {
    guard case .failure(let error) = await session.getImage(for: service.url(path), decode: Picture.init).end() else {
      return nil
    }
    return error
  }

  @Test func aGoodAnswerIsAnImage() async throws {
    let result = await session.getImage(for: url, decode: Picture.init).end()
    #expect(try result.get() == Picture(size: 1000))
    let again = await session.getImage(for: URLRequest(url: url), decode: Picture.init).end()
    #expect(try again.get() == Picture(size: 1000))
  }

  @Test func theGatewaysTextIsTheErrorsDescription() async throws {
    let error = await error(of: "/backend/Images('tea')/$value")
    guard case .client(let response, let payload?) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(response.statusCode == 404)
    #expect(payload.error.code == "/IWBEP/CM_MGW_RT/020")
    #expect(error?.localizedDescription == "Resource not found for the segment 'Images'.")
  }

  @Test func neitherALoginPageNorAnEmptyAnswerIsAnImage() async throws {
    service.answer("/saml", with: .samlLoginPage)
    service.answer("/otp", with: .otpChallenge)
    service.answer("/empty", with: .status(204))
    service.answer("/svg", with: .data(Data("<svg/>".utf8), type: "image/svg+xml"))

    for (path, expected) in [("/saml", true), ("/otp", true), ("/empty", false), ("/svg", false)] {
      guard case .other(let error) = await error(of: path) else {
        Issue.record("\(path) passed for an image")
        continue
      }
      #expect((error is SAPLoginRequiredError) == expected)
      #expect((error is Picture.Undecodable) == !expected)
    }
  }

  @Test func aServerThatIsGoneIsAFailedRequest() async throws {
    service.stop()
    guard case .requestFailed(let error) = await error(of: "/backend/Images('x')/$value") else {
      Issue.record("there was nobody to answer")
      return
    }
    #expect(error.code == .cannotConnectToHost)
  }

  @Test func anObserversErrorKeepsItsType() async throws {
    service.block()
    session.register(SAPcpmsUserBlockedObserver { _ in })
    guard case .other(let error) = await error(of: "/backend/Images('coffee')/$value") else {
      Issue.record("the user is blocked")
      return
    }
    #expect(error as? SAPcpmsUserBlockedError == .traffic)
  }
}

@Suite("A placeholder for an error", .timeLimit(.minutes(5)))
struct PlaceholderTests {
  @Test func theFailureIsSeenAndThePlaceholderShown() async throws {
    let service = try MobileServices()
    let logged = Shared<[String]>([])

    let shown = await SAPURLSession(configuration: .ephemeral).getImage(
      for: service.url("/backend/Images('x')/$value"), decode: Picture.init
    )
    .handleEvents(receiveCompletion: { completion in
      if case .failure(let error) = completion { logged.change { $0.append(error.localizedDescription) } }
    })
    .replaceError(with: .placeholder)
    .end()

    #expect(shown.get() == .placeholder)
    #expect(logged.value == ["Resource not found for the segment 'Images'."])
  }
}

@Suite("The cache that the server controls, and offline", .timeLimit(.minutes(5)))
struct ImageCacheTests {
  private func image(_ url: URL, _ session: SAPURLSession) async -> Picture? {
    try? await session.getImage(for: url, decode: Picture.init).end().get()
  }

  @Test func anImageOfADayIsShownWithoutTheNetwork() async throws {
    let service = try MobileServices(.init(media: ["a": Media(jpeg)]))
    let session = SAPURLSession(configuration: .ephemeral)
    let url = service.url("/backend/Images('a')/$value")
    #expect(await image(url, session) == Picture(size: 1000))

    service.stop()

    #expect(await image(url, session) == Picture(size: 1000))
    #expect(service.requests.count == 1)
    session.clearCredentials()
    #expect(await image(url, session) == nil)
  }

  @Test func noStoreIsNotStored() async throws {
    let service = try MobileServices(.init(media: ["a": Media(jpeg, cacheControl: "no-store")]))
    let session = SAPURLSession(configuration: .ephemeral)
    let url = service.url("/backend/Images('a')/$value")
    for _ in 0..<2 { #expect(await image(url, session) != nil) }
    #expect(service.requests.count == 2)
  }

  @Test func aStaleImageIsConfirmedByItsTag() async throws {
    let service = try MobileServices(.init(media: ["a": Media(jpeg, cacheControl: "no-cache")]))
    let session = SAPURLSession(configuration: .ephemeral)
    let url = service.url("/backend/Images('a')/$value")
    for _ in 0..<2 { #expect(await image(url, session) == Picture(size: 1000)) }
    #expect(service.requests.last?.fields.contains(.ifNoneMatch) == true)

    service.setMedia(Media(jpeg + [1], cacheControl: "no-cache"), for: "a")
    #expect(await image(url, session) == Picture(size: 1001))
  }

  @Test func whatIsStaleIsShownOfflineIfTheServerAllows() async throws {
    let service = try MobileServices(
      .init(media: ["a": Media(jpeg, cacheControl: "max-age=0, stale-if-error=3600")]))
    let session = SAPURLSession(configuration: .ephemeral)
    let url = service.url("/backend/Images('a')/$value")
    #expect(await image(url, session) != nil)
    service.stop()
    #expect(await image(url, session) == Picture(size: 1000))
  }
}

@Suite("In a view model", .timeLimit(.minutes(5)))
struct ViewModelTests {
  /// A cell that is reused for another image.
  private final class Cell: Sendable {
    let shown = Shared<[Picture]>([])
    private let subscription = Shared<AnyCancellable?>(nil)

    func show(_ url: URL, from session: SAPURLSession, done: @escaping @Sendable () -> Void = {}) {
      let new = session.getImage(for: url, decode: Picture.init)
        .replaceError(with: .placeholder)
        .sink { [shown] picture in
          shown.change { $0.append(picture) }
          done()
        }
      subscription.change { $0 = new }
    }
  }

  /// The state that a view observes.
  private final class ImageViewModel: ObservableObject {
    @Published var image = Picture.placeholder
    @Published var message: String?
    private let session: SAPURLSession
    private var cancellables = Set<AnyCancellable>()

    init(session: SAPURLSession) { self.session = session }

    func fetch(_ url: URL) {
      session.getImage(for: url, decode: Picture.init)
        .receive(on: RunLoop.main)
        .handleEvents(receiveCompletion: { [weak self] completion in
          if case .failure(let error) = completion { self?.message = error.localizedDescription }
        })
        .replaceError(with: .placeholder)
        .assign(to: &$image)
    }

    func fetchAgain(_ url: URL) {
      session.getImage(for: url, decode: Picture.init)
        .replaceError(with: .placeholder)
        .receive(on: DispatchQueue.main)
        .assign(to: \.image, on: self)
        .store(in: &cancellables)
    }
  }

  @Test func viewModelPublishesTheImageAndWhyThereIsNone() async throws {
    let service = try MobileServices(.init(media: ["b": Media(jpeg)]))
    let model = ImageViewModel(session: SAPURLSession(configuration: .ephemeral))
    let (images, messages) = (model.$image.dropFirst().values, model.$message.compactMap { $0 }.values)

    model.fetch(service.url("/backend/Images('b')/$value"))
    for await image in images {
      #expect(image == Picture(size: 1000))
      break
    }
    model.fetchAgain(service.url("/backend/Images('x')/$value"))
    for await image in model.$image.values where image == .placeholder { break }
    model.fetch(service.url("/backend/Images('x')/$value"))
    for await message in messages {
      #expect(message == "Resource not found for the segment 'Images'.")
      break
    }
  }

  @Test func aCellThatIsUsedAgainShowsTheLastImageAlone() async throws {
    let service = try MobileServices(.init(media: ["b": Media(jpeg)]))
    let gate = Gate()
    service.answer("/slow", with: .data(jpeg + [1]).held(by: gate))
    let (cell, session) = (Cell(), SAPURLSession(configuration: .ephemeral))

    cell.show(service.url("/slow"), from: session)
    _ = try await service.request(1)
    await withCheckedContinuation { continuation in
      cell.show(service.url("/backend/Images('b')/$value"), from: session) { continuation.resume() }
    }
    gate.open()

    #expect(cell.shown.value == [Picture(size: 1000)])
  }

  @Test func equalURLsAskTheServerOnce() async throws {
    let service = try MobileServices(.init(media: ["b": Media(jpeg)]))
    let session = SAPURLSession(configuration: .ephemeral)
    let url = service.url("/backend/Images('b')/$value")
    let cells = (0..<10).map { _ in Cell() }
    // The first response opens a session: a request with its cookie is not equal to one that began before.
    _ = try await session.data(from: service.url("/backend/Images('x')/$value"))

    await withTaskGroup(of: Void.self) { group in
      for cell in cells {
        group.addTask { await withCheckedContinuation { done in cell.show(url, from: session) { done.resume() } } }
      }
    }

    #expect(cells.allSatisfy { $0.shown.value == [Picture(size: 1000)] })
    #expect(service.requests.count == 2)
  }
}

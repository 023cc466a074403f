import Martlet
import MartletEngine
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Synchronization

/// The data and the shortcuts that many tests share.
enum Fixture {
  /// The JSON in the tutorial.
  static let tutorial =
    #"{"title": "Holiday Slideshow", "slides": [{"id": 10, "file": "sunset-10.jpeg"}, {"id": 13, "file": "sunset-13.jpeg"}]}"#

  static func photo(_ name: String = "coffee.jpg") throws -> Data {
    try Data(contentsOf: DemoService.photos.appending(path: name))
  }

  static func url(_ text: String) throws -> URL {
    struct NoURL: Error {}
    guard let url = URL(string: text) else { throw NoURL() }
    return url
  }

  /// A client whose service is this server, with its own cache.
  static func client(
    _ server: LoopbackServer, cache: ImageCache = ImageCache(), session: HTTPSession? = nil
  ) throws -> SlideshowClient {
    try client(service: server.url("/holidayslideshow.json"), images: server.url("/"), cache: cache, session: session)
  }

  static func client(
    service: URL, images: URL, cache: ImageCache = ImageCache(), session: HTTPSession? = nil
  ) throws -> SlideshowClient {
    let configuration = try SlideshowConfiguration {
      $0 == .service ? service.absoluteString : images.absoluteString
    }
    return SlideshowClient(configuration, session: session, cache: cache)
  }

  /// A file in its own folder, which does not exist yet.
  static func stateFile() -> URL {
    FileManager.default.temporaryDirectory.appending(path: "slideshow-\(UUID())/state.json")
  }

  static let screen = ScreenSize(columns: 40, rows: 13)
  static let viewport = screen.viewport
  static let slides = (1...3).map { Slide(id: SlideID("\($0)"), imageFileName: "sunset-\($0).jpeg") }

  /// A state that has its slides, and waits for the first picture.
  static func state(
    slides: [Slide] = slides, title: String = "Holiday", poll: Duration? = nil, kept: KeptState = KeptState()
  ) -> SlideshowState {
    var state = SlideshowState(
      service: "http://localhost:8000/s.json", kept: kept, viewport: viewport, pollInterval: poll)
    state.answer(state.handle(.started), Slideshow(title: title, slides: slides))
    return state
  }

  static func shown(
    _ request: PictureRequest, from source: ImageSource = .memory, bytes: Int = 0
  ) -> ShownPicture {
    var image = LoadedImage(Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255]))
    (image.source, image.encodedBytes) = (source, bytes)
    return ShownPicture(request, image)
  }

  /// The line without the codes for colors.
  static func plain(_ line: String) -> String { line.replacing(/\u{1B}\[[0-9;]*m/, with: "") }

  /// A request for the picture of a slide in the size of its file.
  static func request(_ slide: Slide, box: PixelSize = PixelSize(width: 600, height: 600)) -> PictureRequest {
    PictureRequest(slide: slide, mode: .fit, box: box)
  }
}

extension SlideshowState {
  /// Answers the request for slides among the effects.
  @discardableResult
  mutating func answer(
    _ effects: [SlideshowEffect], _ slideshow: Slideshow, from source: HTTPResponse.Source = .network
  ) -> [SlideshowEffect] {
    handle(.slides(effects.slidesRequest ?? -1, .success(ServedSlideshow(slideshow, from: source))))
  }

  @discardableResult
  mutating func fail(_ effects: [SlideshowEffect], _ error: SlideshowError) -> [SlideshowEffect] {
    handle(.slides(effects.slidesRequest ?? -1, .failure(error)))
  }

  /// Answers a request for a picture.
  @discardableResult
  mutating func show(_ request: PictureRequest) -> [SlideshowEffect] {
    handle(.picture(request, .success(Fixture.shown(request))))
  }

  /// Answers the request for the picture to show, if there is one.
  mutating func showWanted(from source: ImageSource = .memory, bytes: Int = 0) {
    if let wanted { _ = handle(.picture(wanted, .success(Fixture.shown(wanted, from: source, bytes: bytes)))) }
  }

  /// The id of the slide whose picture is to be shown; nil if there is none.
  var shownID: SlideID? {
    if case .shown(let shown) = picture { shown.request.slide.id } else { nil }
  }
}

extension [SlideshowEffect] {
  /// The number of the request for slides among them.
  var slidesRequest: Int? {
    for case .loadSlides(let number) in self { return number }
    return nil
  }

  /// The request for a picture among them.
  var pictureRequest: PictureRequest? {
    for case .loadPicture(let request) in self { return request }
    return nil
  }

  /// The slides among them whose pictures are to be fetched ahead; nil if there is no such effect.
  var prefetched: [Slide]? {
    for case .prefetch(let requests) in self { return requests.map(\.slide) }
    return nil
  }

  /// The thumbnails requested among them; nil if there is no such effect.
  var thumbnails: [PictureRequest]? {
    for case .loadThumbnails(let requests) in self { return requests }
    return nil
  }

  /// The time to wait among them, and its purpose.
  var wait: (Wait, Duration)? {
    for case .wait(let wait, let duration) in self { return (wait, duration) }
    return nil
  }
}

/// The observations of several tasks.
final class Journal<Entry: Sendable>: Sendable {
  private let content = Mutex<[Entry]>([])

  var entries: [Entry] { content.withLock { $0 } }
  func append(_ entry: Entry) { content.withLock { $0.append(entry) } }
}

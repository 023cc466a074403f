import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Synchronization

/// The data and the shortcuts that many tests share.
enum Fixture {
  /// The JSON as the tutorial prints it.
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

  /// A client whose service is this server, with a cache of its own.
  static func client(_ server: LoopbackServer, cache: ImageCache = ImageCache()) throws -> SlideshowClient {
    try client(service: server.url("/holidayslideshow.json"), images: server.url("/"), cache: cache)
  }

  static func client(service: URL, images: URL, cache: ImageCache = ImageCache()) throws -> SlideshowClient {
    let configuration = try SlideshowConfiguration {
      $0 == .service ? service.absoluteString : images.absoluteString
    }
    return SlideshowClient(configuration, cache: cache)
  }

  /// A file in a folder of its own, which does not exist yet.
  static func stateFile() -> URL {
    FileManager.default.temporaryDirectory.appending(path: "slideshow-\(UUID())/state.json")
  }

  static let screen = ScreenSize(columns: 40, rows: 12)
  static let slides = (1...3).map { Slide(id: SlideID("\($0)"), imageFileName: "sunset-\($0).jpeg") }

  /// A state that has its slides.
  static func state(slides: [Slide] = slides, title: String = "Holiday") -> SlideshowState {
    var state = SlideshowState(screen: screen)
    let number = state.handle(.started).slidesRequest
    _ = state.handle(.slides(number ?? 0, .success(Slideshow(title: title, slides: slides))))
    return state
  }
}

extension [SlideshowEffect] {
  /// The number of the request for slides among them.
  var slidesRequest: Int? {
    for case .loadSlides(let number) in self { return number }
    return nil
  }

  /// Number and slide of the request for a picture among them.
  var pictureRequest: (number: Int, slide: Slide)? {
    for case .loadPicture(let number, let slide, _, _) in self { return (number, slide) }
    return nil
  }
}

/// What several tasks have seen.
final class Journal<Entry: Sendable>: Sendable {
  private let content = Mutex<[Entry]>([])

  var entries: [Entry] { content.withLock { $0 } }
  func append(_ entry: Entry) { content.withLock { $0.append(entry) } }
}

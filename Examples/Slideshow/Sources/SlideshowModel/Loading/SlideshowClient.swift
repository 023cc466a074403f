package import MartletEngine
import MartletImages
import Martlet

/// Fetches the slideshow and its pictures.
package struct SlideshowClient: Sendable {
  package let configuration: SlideshowConfiguration
  private let session: HTTPSession
  private let cache: ImageCache

  package init(_ configuration: SlideshowConfiguration, session: HTTPSession? = nil, cache: ImageCache = .shared) {
    self.configuration = configuration
    self.session = session ?? .slideshow(allowsInsecure: configuration.allowsInsecure)
    self.cache = cache
  }

  /// Fetches title and slides, asking the server whatever a cache holds; where the server cannot be reached, what it said
  /// last.
  package func slideshow() async throws(SlideshowError) -> ServedSlideshow {
    let url = configuration.service
    var request = HTTPRequest(.get, url)
    request.fields[.cacheControl] = "no-cache"
    let data: Data
    let response: HTTPResponse
    do { (data, response) = try await session.data(for: request) } catch { throw SlideshowError(error, at: url) }
    guard response.status.isSuccessful else { throw .unexpectedStatusCode(response.status.code, url) }
    do {
      return ServedSlideshow(try JSONDecoder().decode(Slideshow.self, from: data), from: response.source)
    } catch {
      throw .decoding(error, of: data, from: url)
    }
  }

  /// Where a picture came from.
  package enum Source: Sendable, Hashable, CustomStringConvertible {
    /// The memory: it was shown before.
    case memory
    /// The session: over the network, or from its cache.
    case session(ResponseSource)

    package var description: String {
      switch self {
      case .memory: "memory"
      case .session(let source): source.rawValue
      }
    }
  }

  /// A picture, and how it came.
  package struct Arrival: Sendable {
    package let picture: Picture
    package let source: Source
    package let duration: Duration
  }

  /// Fetches the picture of a slide, or takes it from the cache.
  ///
  /// - Parameters:
  ///   - asksAgain: whether the server is asked if what is kept on the disk still holds; by default it is not.
  ///   - progress: called as bytes arrive, at most once for each percent of the whole.
  package func picture(
    for slide: Slide, asksAgain: Bool = false, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws(PictureError) -> Arrival {
    let urls = try ImageLocation(base: configuration.imageBase).urls(for: slide.imageFileName)
    let clock = ContinuousClock()
    let start = clock.now
    let (picture, isKept) = try await cache.picture(for: urls[0]) { [self] in
      await fetch(urls, asksAgain: asksAgain, progress)
    }
    return Arrival(
      picture: picture, source: isKept ? .memory : .session(picture.source), duration: start.duration(to: clock.now))
  }

  /// Lets every picture be asked for again, those that could not be loaded included.
  package func forgetPictures() { cache.removeAll() }

  /// The first of these pictures that exists.
  private func fetch(
    _ urls: [URL], asksAgain: Bool, _ progress: @escaping @Sendable (TransferProgress) -> Void
  ) async -> Result<Picture, PictureError> {
    // The first address is the one that people expect to read about.
    var missing: PictureError?
    for url in urls {
      do { return .success(try await fetch(url, asksAgain: asksAgain, progress)) } catch {
        guard case .unexpectedStatusCode(404, _) = error else { return .failure(error) }
        missing = missing ?? error
      }
    }
    return .failure(missing ?? .noFileName)
  }

  private func fetch(
    _ url: URL, asksAgain: Bool, _ progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(PictureError) -> Picture {
    var request = HTTPRequest(.get, url)
    if asksAgain { request.fields[.cacheControl] = "no-cache" }
    request.options.listeners = [ProgressSteps(progress)]
    let data: Data
    let response: HTTPResponse
    do { (data, response) = try await session.data(for: request) } catch { throw PictureError(error, at: url) }
    guard response.status.isSuccessful else { throw .unexpectedStatusCode(response.status.code, url) }
    do { return try Picture(data, from: response.source) } catch { throw .notAnImage(url, reason: error.message) }
  }
}

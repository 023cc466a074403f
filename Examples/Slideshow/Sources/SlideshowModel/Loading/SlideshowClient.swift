package import MartletEngine
package import MartletImages
import Martlet

/// Fetches the slideshow and its pictures.
package struct SlideshowClient: Sendable {
  package let configuration: SlideshowConfiguration
  private let session: HTTPSession
  private let loader: ImageLoader
  /// For the thumbnails of the list: their files are in the session's cache, but their pixels are not cached.
  private let thumbnailLoader: ImageLoader
  private let prefetcher: ImagePrefetcher
  private let renewal = PictureRenewal()

  package init(_ configuration: SlideshowConfiguration, session: HTTPSession? = nil, cache: ImageCache = .slideshow) {
    self.configuration = configuration
    self.session = session ?? .slideshow(allowsInsecure: configuration.allowsInsecure)
    var settings = ImageLoader.Configuration()
    settings.cache = cache
    // Previews are not shown.
    settings.previewLimit = 0
    loader = ImageLoader(session: self.session, configuration: settings)
    prefetcher = ImagePrefetcher(loader: loader)
    settings.cache = nil
    // Most of the bandwidth is for the current picture.
    settings.concurrentLoads = 2
    thumbnailLoader = ImageLoader(session: self.session, configuration: settings)
  }

  /// Fetches the title and the slides, and validates cached ones. If the server cannot be reached, returns the last
  /// known ones.
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

  /// The picture in the requested size, if it is in memory.
  package func pictureInMemory(_ request: PictureRequest) -> LoadedImage? {
    for url in (try? urls(for: request.slide)) ?? [] {
      if let image = loader.cachedImage(for: request.image(at: url)) { return image }
    }
    return nil
  }

  /// Fetches the picture of a slide, or returns it from memory.
  ///
  /// - Parameter progress: called as bytes arrive.
  package func picture(
    _ request: PictureRequest, progress: @escaping @Sendable (Event.Progress) -> Void = { _ in }
  ) async throws(PictureError) -> LoadedImage {
    try await picture(request, by: loader, progress)
  }

  /// A thumbnail for the list; nil if there is none.
  package func thumbnail(_ request: PictureRequest) async -> Bitmap? {
    try? await picture(request, by: thumbnailLoader) { _ in }.bitmap
  }

  private func picture(
    _ request: PictureRequest, by loader: ImageLoader, _ progress: @escaping @Sendable (Event.Progress) -> Void
  ) async throws(PictureError) -> LoadedImage {
    // Users expect the first address in messages.
    var missing: PictureError?
    for url in try urls(for: request.slide) {
      do throws(ImageLoadError) { return try await load(request, at: url, by: loader, progress) } catch {
        guard error.response?.status == .notFound else { throw .notLoaded(error) }
        missing = missing ?? .notLoaded(error)
      }
    }
    throw missing ?? .noFileName
  }

  /// Fetches pictures ahead. Earlier prefetches for other pictures are cancelled.
  package func prefetch(_ requests: [PictureRequest]) {
    let images = requests.compactMap { request in
      (try? urls(for: request.slide))?.first.map { renewal.renewing(request.image(at: $0)) }
    }
    prefetcher.prefetch(images.filter { loader.configuration.cache?[loader.key(for: $0)] == nil })
  }

  /// Removes pictures and failures from memory. From now on, the server validates pictures on disk.
  package func forgetPictures() {
    prefetcher.prefetch([])
    loader.configuration.cache?.removeAll()
    loader.forgetFailures()
    thumbnailLoader.forgetFailures()
    renewal.begin()
  }

  /// The source of the file of a picture in memory; nil if the picture is not in memory.
  package func origin(of request: PictureRequest) -> ImageSource? {
    for url in (try? urls(for: request.slide)) ?? [] {
      if let image = loader.configuration.cache?[loader.key(for: request.image(at: url))] { return image.source }
    }
    return nil
  }

  private func urls(for slide: Slide) throws(PictureError) -> [URL] {
    try ImageLocation(base: configuration.imageBase).urls(for: slide.imageFileName)
  }

  private func load(
    _ request: PictureRequest, at url: URL, by loader: ImageLoader,
    _ progress: @Sendable (Event.Progress) -> Void
  ) async throws(ImageLoadError) -> LoadedImage {
    let image = request.image(at: url).priority(.high)
    if let known = loader.cachedImage(for: image) { return known }
    let renewing = renewal.renewing(image)
    do throws(ImageLoadError) {
      let loaded = try await loader.loaded(renewing, progress)
      renewal.note(url)
      return loaded
    } catch {
      // If the server cannot be reached, the stored picture is shown.
      guard error.kind == .network, renewing.http.options.cachePolicy != image.http.options.cachePolicy else {
        throw error
      }
      return try await loader.image(for: image)
    }
  }
}

extension ImageLoader {
  /// Loads the picture, and reports progress.
  fileprivate func loaded(
    _ request: ImageRequest, _ progress: (Event.Progress) -> Void
  ) async throws(ImageLoadError) -> LoadedImage {
    for await phase in phases(for: request) {
      switch phase {
      case .loading(let step?): progress(step)
      case .success(let image): return image
      case .failure(let error): throw error
      default: break
      }
    }
    // The stream of a cancelled task ends early; this throws then.
    return try await image(for: request)
  }
}

extension PictureRequest {
  fileprivate func image(at url: URL) -> ImageRequest { ImageRequest(url, targetSize: box, contentMode: mode) }
}

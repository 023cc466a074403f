public import MartletEngine

/// The state of an image that is being loaded, for a view that shows it.
///
/// The order is: loading, perhaps several times; previews, if the file and the configuration allow them; success or
/// failure. An image in memory is a success at once, without a placeholder before it.
@nonexhaustive public enum ImagePhase: Sendable {
  /// No image was requested.
  case empty
  /// The image is being loaded; with the progress once its first bytes have arrived.
  case loading(Event.Progress?)
  /// A rough image, made of the first part of the file.
  case preview(Bitmap)
  /// The image.
  case success(LoadedImage)
  /// The load failed.
  case failure(ImageLoadError)

  /// The pixels of the preview or of the image; nil if there are none.
  public var bitmap: Bitmap? {
    switch self {
    case .preview(let bitmap): bitmap
    case .success(let image): image.bitmap
    default: nil
    }
  }

  /// The image; nil before it is complete.
  public var image: LoadedImage? {
    if case .success(let image) = self { image } else { nil }
  }

  /// The reason why the load failed; nil if it did not.
  public var error: ImageLoadError? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Whether more phases will follow.
  public var isLoading: Bool {
    switch self {
    case .loading, .preview: true
    default: false
    }
  }
}

/// Receives the progress of a load: ``ImagePhase/loading(_:)`` and ``ImagePhase/preview(_:)``.
typealias LoadObserver = @Sendable (ImagePhase) -> Void

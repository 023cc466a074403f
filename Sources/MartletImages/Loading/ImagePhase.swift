public import MartletEngine

/// What there is to be shown of a picture at a moment.
///
/// In this order: loading, perhaps several times; previews, where the file and the loader make some; success or failure. A
/// picture that is in memory is a success at once, without a placeholder flashing up.
public enum ImagePhase: Sendable {
  /// No picture was asked for.
  case empty
  /// It is on its way: how far the file has come, once its first bytes have.
  case loading(TransferProgress?)
  /// A rough picture of a file that is only partly there.
  case preview(Bitmap)
  /// The picture.
  case success(LoadedImage)
  /// There is none.
  case failure(ImageLoadError)

  /// The pixels, rough or final, if there are any.
  public var bitmap: Bitmap? {
    switch self {
    case .preview(let bitmap): bitmap
    case .success(let image): image.bitmap
    default: nil
    }
  }

  /// The picture; nil while it is not whole.
  public var image: LoadedImage? {
    if case .success(let image) = self { image } else { nil }
  }

  /// Why there is no picture.
  public var error: ImageLoadError? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Whether more is to come.
  public var isLoading: Bool {
    switch self {
    case .loading, .preview: true
    default: false
    }
  }
}

/// Is told how a load goes on: ``ImagePhase/loading(_:)`` and ``ImagePhase/preview(_:)``.
typealias LoadObserver = @Sendable (ImagePhase) -> Void

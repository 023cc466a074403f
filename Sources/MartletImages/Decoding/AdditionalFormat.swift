/// A format that you teach the decoder, for ``ImageDecoder/Options/additionalFormats``.
///
/// ```swift
/// let bmp = AdditionalFormat(
///   ImageFormat(rawValue: "BMP"), recognizes: { $0.starts(with: Data("BM".utf8)) },
///   decode: { data, options in try decodeBMP(data, limit: options.limits.bytes) })
/// let picture = try ImageDecoder.decode(data, options: .init(additionalFormats: [bmp]))
/// ```
///
/// The bitmap is expected upright and in sRGB; a larger one than ``ImageDecoder/Options/fitting`` asks for is scaled
/// down afterwards. Two of the same name are equal.
public struct AdditionalFormat: Sendable {
  /// The format: its name is what tells two of these apart.
  public let format: ImageFormat
  let recognizes: @Sendable (Data) -> Bool
  let decode: @Sendable (Data, ImageDecoder.Options) throws -> Bitmap
  let size: @Sendable (Data) throws -> PixelSize

  /// Makes a format.
  ///
  /// - Parameters:
  ///   - format: Its name.
  ///   - recognizes: Whether this is such a file, by its first bytes; all bytes that are there are passed.
  ///   - decode: Decodes a whole file; keeps the options' limits itself. An error other than ``ImageError`` becomes one
  ///     of the kind `damaged`.
  ///   - size: Reads the size from the head, for ``ImageDecoder/info(_:options:)``; by default the file is decoded.
  public init(
    _ format: ImageFormat, recognizes: @escaping @Sendable (Data) -> Bool,
    decode: @escaping @Sendable (Data, ImageDecoder.Options) throws -> Bitmap,
    size: (@Sendable (Data) throws -> PixelSize)? = nil
  ) {
    self.format = format
    self.recognizes = recognizes
    self.decode = decode
    self.size = size ?? { try decode($0, ImageDecoder.Options()).size }
  }

  /// Runs one of the functions; whatever it throws becomes an ``ImageError``.
  func run<Value>(_ body: () throws -> Value) throws(ImageError) -> Value {
    do {
      return try body()
    } catch let error as ImageError {
      throw error
    } catch {
      throw ImageError(.damaged, "the \(format) cannot be read: \(error)")
    }
  }
}

extension AdditionalFormat: Hashable {
  /// Whether the names are the same.
  public static func == (left: AdditionalFormat, right: AdditionalFormat) -> Bool { left.format == right.format }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(format) }
}

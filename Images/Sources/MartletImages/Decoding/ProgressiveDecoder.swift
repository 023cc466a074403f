/// Decodes previews of a progressive JPEG while it is received: the whole image, coarse at first, then finer.
///
/// ```swift
/// var decoder = ProgressiveDecoder(options: .init(fitting: box))
/// for try await chunk in body {
///   if let preview = decoder.append(chunk) { await show(preview) }
/// }
/// let image = try ImageDecoder.decode(decoder.data, options: .init(fitting: box))
/// ```
///
/// A preview is made when a scan is complete and at least a third more bytes have been received than at the previous
/// preview. Each costs about as much as decoding the image, and there are at most ``previewLimit``; together they read
/// no more pixels than ``ImageDecoder/Limits/sourcePixels``. A baseline JPEG,
/// whose rows are stored one after another, has no previews, and neither has any other format. Nothing is thrown:
/// ``ImageDecoder/decode(_:options:)`` reports the problems of a file.
public struct ProgressiveDecoder: Sendable {
  /// All bytes so far.
  public private(set) var data = Data()
  /// Whether this is a progressive JPEG that allows previews; nil until that is known.
  public private(set) var isProgressive: Bool?
  /// The maximum number of previews of one image; 5 by default.
  public let previewLimit: Int
  private let options: ImageDecoder.Options
  /// Where reading the markers continues.
  private var position = 2
  private var isInScan = false
  private var previews = 0
  /// The number of bytes from which the latest preview was decoded.
  private var previewLength = 0
  /// The pixels that previews have read, as ``ImageDecoder/Limits/sourcePixels`` counts them.
  private var sourcePixels = 0

  /// Makes a decoder whose previews are decoded with these options.
  public init(options: ImageDecoder.Options = ImageDecoder.Options(), previewLimit: Int = 5) {
    self.options = options
    self.previewLimit = previewLimit
  }

  /// Appends bytes, and returns a preview if they make a better one possible.
  public mutating func append(_ bytes: Data) -> Bitmap? { append(bytes) { Task.isCancelled } }

  /// Appends bytes, and returns a preview if they make a better one possible and it is still needed.
  mutating func append(_ bytes: Data, isAbandoned: @escaping () -> Bool) -> Bitmap? {
    data.append(bytes)
    guard isProgressive != false, previews < previewLimit, data.count >= 3 else { return nil }
    guard let end = endOfNewScan(), end >= previewLength + previewLength / 3 else { return nil }
    var options = options
    options.limits.sourcePixels -= sourcePixels
    let decoding = Decoding(options, isAbandoned: isAbandoned)
    let beginning = data.prefix(end) + JPEGMarkers.endOfImageBytes
    guard let preview = try? ImageDecoder.decode(beginning, options, in: decoding) else {
      isProgressive = false
      return nil
    }
    previews += 1
    sourcePixels += decoding.sourcePixels
    previewLength = end
    return preview
  }

  /// Reads the markers in the new bytes. Returns the end of the latest scan that they completed; nil if there is none,
  /// or if the image is complete.
  private mutating func endOfNewScan() -> Int? {
    data.withUnsafeBytes { buffer in
      let bytes = Bytes(buffer: buffer)
      guard bytes.has([0xFF, 0xD8, 0xFF]) else {
        isProgressive = false
        return nil
      }
      var markers = JPEGMarkers(bytes: bytes, position: position)
      var end: Int?
      while let marker = markers.next() {
        if isInScan { end = markers.markerStart }
        isInScan = false
        // If the segment is incomplete, its marker is read again the next time.
        position = markers.markerStart
        if marker == JPEGMarkers.endOfImage { isProgressive = false }
        if JPEGMarkers.isStartOfFrame(marker) { isProgressive = marker == 0xC2 || marker == 0xCA }
        guard isProgressive != false else { return nil }
        guard markers.segment() != nil else { return end }
        isInScan = marker == JPEGMarkers.startOfScan
        position = markers.position
      }
      // The last byte may be the first of a marker.
      position = max(position, bytes.count - 1)
      return end
    }
  }
}

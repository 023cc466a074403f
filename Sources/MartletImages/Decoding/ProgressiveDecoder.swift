/// Previews of a progressive JPEG while it arrives: the whole picture, first coarse, then finer.
///
/// ```swift
/// var decoder = ProgressiveDecoder(options: .init(fitting: box))
/// for try await chunk in body {
///   if let preview = decoder.append(chunk) { await show(preview) }
/// }
/// let picture = try ImageDecoder.decode(decoder.data, options: .init(fitting: box))
/// ```
///
/// There is a preview when a scan is complete that makes the picture better, and when a third more bytes are there than
/// at the one before: each costs about as much as decoding the picture, and there are ``previewLimit`` at most. A
/// baseline JPEG, whose rows come one after another, has none, nor has any other format. Nothing is thrown: what is
/// wrong with a file shows when it is decoded.
public struct ProgressiveDecoder: Sendable {
  /// All bytes so far.
  public private(set) var data = Data()
  /// Whether this is a progressive JPEG; nil as long as that is not known.
  public private(set) var isProgressive: Bool?
  /// The most previews of one picture.
  public let previewLimit: Int
  private let options: ImageDecoder.Options
  /// Up to where the markers have been walked.
  private var position = 2
  private var isInScan = false
  private var previews = 0
  /// How many bytes the latest preview was made of.
  private var previewLength = 0

  /// Makes a decoder whose previews are decoded with these options.
  public init(options: ImageDecoder.Options = ImageDecoder.Options(), previewLimit: Int = 5) {
    self.options = options
    self.previewLimit = previewLimit
  }

  /// Takes the next bytes, and returns a preview if they make a better one possible.
  public mutating func append(_ bytes: Data) -> Bitmap? {
    data.append(bytes)
    guard isProgressive != false, previews < previewLimit, data.count >= 3 else { return nil }
    guard let end = walk(), end >= previewLength + previewLength / 3 else { return nil }
    guard let preview = try? ImageDecoder.decode(data.prefix(end) + [0xFF, MarkerWalk.endOfImage], options: options)
    else {
      isProgressive = false
      return nil
    }
    previews += 1
    previewLength = end
    return preview
  }

  /// Goes on to where the bytes end; returns where the latest complete scan does that was not complete before, but nil
  /// when the picture is.
  private mutating func walk() -> Int? {
    data.withUnsafeBytes { buffer in
      let bytes = Bytes(buffer: buffer)
      guard bytes.has([0xFF, 0xD8, 0xFF]) else {
        isProgressive = false
        return nil
      }
      var walk = MarkerWalk(bytes: bytes, position: position)
      var end: Int?
      while let marker = walk.next() {
        if isInScan { end = walk.markerStart }
        isInScan = false
        // Where the segment is not whole yet, its marker is found again.
        position = walk.markerStart
        if marker == MarkerWalk.endOfImage { isProgressive = false }
        if MarkerWalk.isStartOfFrame(marker) { isProgressive = marker == 0xC2 || marker == 0xCA }
        guard isProgressive != false else { return nil }
        guard walk.segment() != nil else { return end }
        isInScan = marker == MarkerWalk.startOfScan
        position = walk.position
      }
      // The last byte may be the first of a marker.
      position = max(position, bytes.count - 1)
      return end
    }
  }
}

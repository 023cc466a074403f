extension ImageOrientation {
  /// The orientation in an EXIF block: the tag 0x0112 in the first directory of a TIFF structure (TIFF 6.0 §2).
  ///
  /// Anything odd (no such tag, another type, a value beyond 8, offsets that lead outside) means ``up``: a picture is
  /// not refused for its metadata. Only the first directory is read, once, so there is no chain to follow for ever.
  init(exif block: Bytes) {
    let tiff = block.has("Exif\0\0") ? block.slice(from: 6, count: block.count - 6) : block
    self = tiff.flatMap(ImageOrientation.init(tiff:)) ?? .up
  }

  private init?(tiff: Bytes) {
    let order: Bytes.Order
    if tiff.has("II*\0") {
      order = .little
    } else if tiff.has([0x4D, 0x4D, 0, 42]) {
      order = .big
    } else {
      return nil
    }
    guard let directory = tiff.number(at: 4, bytes: 4, order),
      let entries = tiff.number(at: directory, bytes: 2, order)
    else { return nil }
    for index in 0..<entries {
      let entry = directory + 2 + index * 12
      guard let tag = tiff.number(at: entry, bytes: 2, order) else { return nil }
      guard tag == 0x0112 else { continue }
      let short = 3
      guard tiff.number(at: entry + 2, bytes: 2, order) == short,
        let value = tiff.number(at: entry + 8, bytes: 2, order)
      else { return nil }
      self.init(rawValue: value)
      return
    }
    return nil
  }
}

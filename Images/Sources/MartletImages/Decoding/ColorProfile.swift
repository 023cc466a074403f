/// The ICC profile in an image file, and the kind of pixels that it is for.
struct ColorProfile: Hashable {
  let content: [UInt8]
  let layout: ColorConversion.Layout

  /// The reason why the profile is not applied; nil if it may be.
  ///
  /// Little CMS takes up to minutes for some profiles of a few hundred bytes, whose elements have any number of stages
  /// (`mpet`, ICC.1 §10.18). All stages may be at the same place. Browsers ignore such tags.
  var refusal: String? {
    guard content.count <= layout.profileLimit else {
      return "the color profile has more than \(layout.profileLimit) bytes"
    }
    return content.withUnsafeBytes { buffer in
      let bytes = Bytes(buffer: buffer)
      guard let count = bytes.number(at: 128, bytes: 4, .big) else { return nil }
      // Little CMS reads no profile with more tags than this.
      for index in 0..<min(count, 100) {
        let tag = 132 + index * 12
        guard let element = bytes.number(at: tag + 4, bytes: 4, .big) else { return nil }
        if ["D2B", "B2D"].contains(where: { bytes.has($0, at: tag) }) || bytes.has("mpet", at: element) {
          return "the color profile has an element of any number of stages (mpet)"
        }
      }
      return nil
    }
  }
}

extension ColorConversion.Layout {
  /// The maximum number of bytes of a profile that is applied. Profiles for printing presses have up to 3 MiB, others
  /// 60 KiB.
  var profileLimit: Int { self == .invertedCMYK ? 4 << 20 : 64 << 10 }
}

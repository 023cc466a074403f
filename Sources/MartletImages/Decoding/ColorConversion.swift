import CLittleCMS

/// Converts colours from an embedded ICC profile to sRGB, by Little CMS with the perceptual intent.
///
/// A profile that equals sRGB within two steps of 255 is skipped; that is measured, not taken from its name. A profile that is
/// broken, or that is for other pixels, is ignored: an image is not refused for its metadata.
enum ColorConversion {
  /// The channels in the four bytes of a pixel.
  enum Layout {
    /// Red, green, blue and alpha.
    case rgba
    /// RGBA in which red, green and blue are the same grey.
    case grey
    /// Cyan, magenta, yellow and black; 255 is no ink.
    case invertedCMYK
  }

  /// The longest profile that is applied, in bytes: profiles for printing presses have up to 3 MiB.
  static let profileLimit = 4 << 20

  /// Converts pixels in place, except the alpha; returns whether it did.
  @discardableResult
  static func convert(_ pixels: inout [UInt8], from profile: [UInt8], as layout: Layout) -> Bool {
    guard profile.count <= profileLimit, let source = cmsOpenProfileFromMem(profile, cmsUInt32Number(profile.count))
    else { return false }
    defer { cmsCloseProfile(source) }
    // CMYK is never sRGB already. Most profiles are sRGB: compare with a transform without optimization, which is cheap.
    if layout != .invertedCMYK {
      guard let probe = makeTransform(from: source, layout, flags: cmsUInt32Number(cmsFLAGS_NOOPTIMIZE)) else {
        return false
      }
      defer { cmsDeleteTransform(probe) }
      if isIdentity(probe, layout) { return false }
    }
    guard let transform = makeTransform(from: source, layout, flags: 0) else { return false }
    defer { cmsDeleteTransform(transform) }
    run(transform, on: &pixels)
    return true
  }

  private static func makeTransform(
    from source: cmsHPROFILE, _ layout: Layout, flags: cmsUInt32Number
  ) -> cmsHTRANSFORM? {
    let format: cmsUInt32Number
    switch (cmsGetColorSpace(source), layout) {
    case (cmsSigRgbData, .rgba), (cmsSigRgbData, .grey): format = martlet_cms_rgba
    case (cmsSigGrayData, .grey): format = martlet_cms_grey
    case (cmsSigCmykData, .invertedCMYK): format = martlet_cms_inverted_cmyk
    default: return nil
    }
    guard let target = cmsCreate_sRGBProfile() else { return nil }
    defer { cmsCloseProfile(target) }
    return cmsCreateTransform(source, format, target, martlet_cms_rgba, cmsUInt32Number(INTENT_PERCEPTUAL), flags)
  }

  /// Whether the transform maps colours to themselves, within two steps: all greys, or samples of the whole RGB cube.
  private static func isIdentity(_ transform: cmsHTRANSFORM, _ layout: Layout) -> Bool {
    let steps = stride(from: UInt8(0), through: 255, by: 51)
    let colors: [[UInt8]] =
      layout == .grey
      ? (0...255).map { [$0, $0, $0, 255] }
      : steps.flatMap { red in steps.flatMap { green in steps.map { [red, green, $0, 255] } } }
    let before = Array(colors.joined())
    var after = before
    run(transform, on: &after)
    return zip(before, after).allSatisfy { abs(Int($0) - Int($1)) <= 2 }
  }

  /// Converts pixels in portions, because Little CMS counts them in 32 bits.
  private static func run(_ transform: cmsHTRANSFORM, on pixels: inout [UInt8]) {
    pixels.withUnsafeMutableBytes { bytes in
      for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
        let part = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(start + 1 << 20, bytes.count)])
        cmsDoTransform(
          transform, part.baseAddress, part.baseAddress, cmsUInt32Number(part.count / Bitmap.bytesPerPixel))
      }
    }
  }
}

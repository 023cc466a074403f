import CLittleCMS

/// The way from an embedded ICC profile's colours to sRGB, by Little CMS with the perceptual intent.
///
/// A profile whose colours are sRGB's within two steps of 255 is recognised by what it does, not by its name, and
/// nothing is done. A profile that is broken, or that is not for such pixels, is ignored: a picture is not refused for
/// its metadata.
enum ColorConversion {
  /// What the four bytes of a pixel hold.
  enum Layout {
    /// Red, green, blue and alpha.
    case rgba
    /// RGBA in which red, green and blue are the same grey.
    case grey
    /// Cyan, magenta, yellow and black; 255 is no ink.
    case invertedCMYK
  }

  /// The longest profile that is read, in bytes: printing presses have some of 3 MiB.
  static let profileLimit = 4 << 20

  /// Converts pixels in place, all but the alpha; false if nothing was done.
  @discardableResult
  static func convert(_ pixels: inout [UInt8], from profile: [UInt8], as layout: Layout) -> Bool {
    guard profile.count <= profileLimit, let source = cmsOpenProfileFromMem(profile, cmsUInt32Number(profile.count))
    else { return false }
    defer { cmsCloseProfile(source) }
    // CMYK is never sRGB already. Most pictures say that they are sRGB: to find that out, no tables are made.
    if layout != .invertedCMYK {
      guard let trial = makeTransform(from: source, layout, flags: cmsUInt32Number(cmsFLAGS_NOOPTIMIZE)) else {
        return false
      }
      defer { cmsDeleteTransform(trial) }
      if changesNothing(trial, layout) { return false }
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

  /// Whether colours all over the cube (of greys: along its diagonal) come out as they went in.
  private static func changesNothing(_ transform: cmsHTRANSFORM, _ layout: Layout) -> Bool {
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

  /// In portions, as Little CMS counts pixels in 32 bits.
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

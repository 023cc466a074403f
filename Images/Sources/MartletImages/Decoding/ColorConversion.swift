import CLittleCMS
@_spi(Toolkit) import MartletEngine
import Synchronization

/// Converts colors from an embedded ICC profile to sRGB, by Little CMS with the perceptual intent.
///
/// A profile that equals sRGB within two steps of 255 is skipped; that is measured, not taken from its name. A profile
/// that is refused, broken, or for other pixels is ignored: an image is not refused for its metadata. Checking a
/// profile and making the tables of its conversion takes longer than decoding a thumbnail. So the transforms of the
/// last profiles are kept: pictures from the same camera or server share them.
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

  /// Converts pixels in place, except the alpha; returns whether it did.
  @discardableResult
  static func convert(_ pixels: inout [UInt8], from profile: ColorProfile) -> Bool {
    guard profile.refusal == nil, let transform = transform(from: profile) else { return false }
    transform.run(on: &pixels)
    return true
  }

  /// The transforms of the last profiles; nil for profiles that are not applied.
  private static let known = Mutex(
    LRUStorage<ColorProfile, Transform?>(costLimit: Layout.invertedCMYK.profileLimit, countLimit: 8))

  private static func transform(from profile: ColorProfile) -> Transform? {
    if let known = known.withLock({ $0.use(profile) }) { return known }
    let made = newTransform(from: profile)
    known.withLock { _ = $0.set(made, cost: profile.content.count, for: profile) }
    return made
  }

  /// Returns the transform of a profile; nil if it is sRGB, broken or for other pixels.
  private static func newTransform(from profile: ColorProfile) -> Transform? {
    let (content, layout) = (profile.content, profile.layout)
    guard let source = cmsOpenProfileFromMem(content, cmsUInt32Number(content.count)) else { return nil }
    defer { cmsCloseProfile(source) }
    // A CMYK profile is never sRGB. Most others are, which a transform without optimization shows at little cost.
    if layout != .invertedCMYK {
      guard let probe = Transform(from: source, layout, flags: cmsUInt32Number(cmsFLAGS_NOOPTIMIZE)),
        !probe.isIdentity(layout)
      else { return nil }
    }
    return Transform(from: source, layout, flags: 0)
  }
}

/// A conversion of pixels to sRGB.
private final class Transform: Sendable {
  // SAFETY: it is not changed, and several threads may use it at the same time, because it does not cache the last
  // converted pixel (`cmsFLAGS_NOCACHE`).
  nonisolated(unsafe) private let handle: cmsHTRANSFORM

  init?(from source: cmsHPROFILE, _ layout: ColorConversion.Layout, flags: cmsUInt32Number) {
    let format: cmsUInt32Number
    switch (cmsGetColorSpace(source), layout) {
    case (cmsSigRgbData, .rgba), (cmsSigRgbData, .grey): format = martlet_cms_rgba
    case (cmsSigGrayData, .grey): format = martlet_cms_grey
    case (cmsSigCmykData, .invertedCMYK): format = martlet_cms_inverted_cmyk
    default: return nil
    }
    guard let target = cmsCreate_sRGBProfile() else { return nil }
    defer { cmsCloseProfile(target) }
    guard
      let handle = cmsCreateTransform(
        source, format, target, martlet_cms_rgba, cmsUInt32Number(INTENT_PERCEPTUAL),
        flags | cmsUInt32Number(cmsFLAGS_NOCACHE))
    else { return nil }
    self.handle = handle
  }

  deinit { cmsDeleteTransform(handle) }

  /// Whether it maps colors to themselves, within two steps: all greys, or samples of the whole RGB cube.
  func isIdentity(_ layout: ColorConversion.Layout) -> Bool {
    let steps = stride(from: UInt8(0), through: 255, by: 51)
    let colors: [[UInt8]] =
      layout == .grey
      ? (0...255).map { [$0, $0, $0, 255] }
      : steps.flatMap { red in steps.flatMap { green in steps.map { [red, green, $0, 255] } } }
    let before = Array(colors.joined())
    var after = before
    run(on: &after)
    return zip(before, after).allSatisfy { abs(Int($0) - Int($1)) <= 2 }
  }

  /// Converts pixels in portions, because Little CMS counts them in 32 bits.
  func run(on pixels: inout [UInt8]) {
    pixels.withUnsafeMutableBytes { bytes in
      for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
        let part = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(start + 1 << 20, bytes.count)])
        cmsDoTransform(
          handle, part.baseAddress, part.baseAddress, cmsUInt32Number(part.count / Bitmap.bytesPerPixel))
      }
    }
  }
}

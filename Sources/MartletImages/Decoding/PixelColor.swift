/// The colour of a pixel: sRGB with straight alpha, 8 bits each.
public struct PixelColor: Sendable, Hashable {
  /// Red, 0 to 255.
  public var red: UInt8
  /// Green, 0 to 255.
  public var green: UInt8
  /// Blue, 0 to 255.
  public var blue: UInt8
  /// How opaque it is: 255 by default, all of it.
  public var alpha: UInt8

  /// Makes a colour.
  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Opaque white.
  public static let white = PixelColor(red: 255, green: 255, blue: 255)
  /// Opaque black.
  public static let black = PixelColor(red: 0, green: 0, blue: 0)
  /// Nothing: transparent black.
  public static let clear = PixelColor(red: 0, green: 0, blue: 0, alpha: 0)
}
